-- The record of phased: what nodes and GPUs did, and which nodes jobs leave out.

CREATE TABLE preflight (
    -- What the check of a node before a run has found.
    run      INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    node     TEXT NOT NULL,
    level    TEXT NOT NULL,    -- quick, full
    observed INTEGER NOT NULL, -- 1: a failure is only reported
    outcome  TEXT NOT NULL CHECK (outcome IN ('passed', 'failed', 'could not tell')),
    reason   TEXT,             -- why the node did not pass
    lasted   INTEGER NOT NULL, -- how long the check took, in milliseconds
    time     INTEGER NOT NULL, -- when the result was reported
    PRIMARY KEY (run, node)
) STRICT, WITHOUT ROWID;

CREATE TABLE preflight_row (
    -- One row of a preflight: one thing that the check looked at.
    run      INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    node     TEXT NOT NULL,
    position INTEGER NOT NULL, -- the place of the row, from 0
    name     TEXT NOT NULL,    -- gpus, model, memory, and so on
    outcome  TEXT NOT NULL CHECK (outcome IN ('passed', 'failed', 'could not tell')),
    text     TEXT,             -- the figure, or the reason
    PRIMARY KEY (run, node, position)
) STRICT, WITHOUT ROWID;

CREATE VIEW v_preflight AS
    -- What preflight found on the nodes of runs, with addresses.
    SELECT phase.workflow || '/' || phase.name || '#' || run.attempt AS address,
           preflight.node, preflight.level, preflight.outcome, preflight.reason,
           preflight.lasted / 1000.0 AS seconds,
           datetime(preflight.time / 1000, 'unixepoch') AS time, preflight.run
      FROM preflight
      JOIN run ON run.id = preflight.run
      JOIN phase ON phase.id = run.phase;

CREATE TABLE gpu (
    -- A GPU that a run had on a node.
    id         INTEGER PRIMARY KEY,
    run        INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    node       TEXT NOT NULL,
    number     INTEGER NOT NULL, -- the number that the driver gives the GPU, in the order of the
                                 -- bus
    model      TEXT,             -- the model, as the driver names it
    uuid       TEXT,             -- the UUID that the driver gives the GPU: a card is known again by
                                 -- its UUID
    memory_mib INTEGER,          -- the size of the GPU's memory
    sampled    INTEGER NOT NULL DEFAULT 0, -- the seconds in which the GPU reported how busy it was
    idle       INTEGER NOT NULL DEFAULT 0, -- the part of these seconds with a mean below 5 %
    UNIQUE (run, node, number)
) STRICT;

CREATE VIEW v_gpu AS
    -- The GPUs that runs had, and how much of the time they did nothing.
    SELECT phase.workflow || '/' || phase.name || '#' || run.attempt AS address,
           gpu.node, gpu.number, gpu.model, gpu.uuid, gpu.memory_mib,
           gpu.sampled / 3600.0 AS hours, 100.0 * gpu.idle / nullif(gpu.sampled, 0) AS idle_percent,
           gpu.run
      FROM gpu
      JOIN run ON run.id = gpu.run
      JOIN phase ON phase.id = run.phase;

CREATE TABLE sample (
    -- What a GPU did, as means of 1, 10 or 60 s. A figure that the driver does not report is NULL.
    gpu                  INTEGER NOT NULL REFERENCES gpu DEFERRABLE INITIALLY DEFERRED,
    seconds              INTEGER NOT NULL CHECK (seconds IN (1, 10, 60)), -- the length of the
                                                                          -- sample
    time                 INTEGER NOT NULL, -- when these seconds began
    util                 INTEGER, -- percent of the time in which a kernel ran
    memory_util          INTEGER, -- percent of the time in which memory was read or written
    memory_mib           INTEGER, -- memory in use, the highest
    power_w              INTEGER, -- power in watts
    temperature_c        INTEGER, -- degrees Celsius of the GPU, the highest
    memory_temperature_c INTEGER, -- degrees Celsius of the GPU's memory, the highest
    sm_clock_mhz         INTEGER, -- the clock of the processors
    memory_clock_mhz     INTEGER, -- the clock of the memory
    clock_reasons        INTEGER, -- what slowed the clocks: all bits of NVML that were set
    ecc_corrected        INTEGER, -- corrected memory errors since the driver was loaded
    ecc_uncorrected      INTEGER, -- uncorrected memory errors since the driver was loaded
    xid                  INTEGER, -- the last error that the driver reported since the run began
    sm_active            INTEGER, -- percent of the cycles in which processors had work
    tensor_active        INTEGER, -- percent of the cycles in which tensor cores had work
    dram_active          INTEGER, -- percent of the cycles in which the memory had work
    PRIMARY KEY (gpu, seconds, time)
) STRICT, WITHOUT ROWID;

-- Samples that are made coarser as they age.
CREATE INDEX sample_fine ON sample (time) WHERE seconds < 60;

CREATE VIEW v_sample AS
    -- What the GPUs of runs did, with addresses.
    SELECT phase.workflow || '/' || phase.name || '#' || run.attempt AS address,
           gpu.node, gpu.number, sample.seconds,
           datetime(sample.time / 1000, 'unixepoch') AS time,
           sample.util, sample.memory_util, sample.memory_mib, sample.power_w,
           sample.temperature_c, sample.memory_temperature_c, sample.sm_clock_mhz,
           sample.memory_clock_mhz,
           sample.clock_reasons, sample.ecc_corrected, sample.ecc_uncorrected, sample.xid,
           sample.sm_active, sample.tensor_active, sample.dram_active,
           gpu.model, gpu.run
      FROM sample
      JOIN gpu ON gpu.id = sample.gpu
      JOIN run ON run.id = gpu.run
      JOIN phase ON phase.id = run.phase;

CREATE TABLE pace (
    -- How fast the steps of a node came, for a node whose first rank prints steps.
    run          INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    node         TEXT NOT NULL,
    step         INTEGER NOT NULL, -- the newest step
    step_seconds REAL NOT NULL,    -- how long a step took on average, in the newest minute
    steps        INTEGER NOT NULL, -- the number of steps in all minutes
    seconds      REAL NOT NULL,    -- how long these steps took
    time         INTEGER NOT NULL, -- the end of the newest minute
    PRIMARY KEY (run, node)
) STRICT, WITHOUT ROWID;

CREATE VIEW v_pace AS
    -- How fast the steps of the nodes of runs came, with addresses.
    SELECT phase.workflow || '/' || phase.name || '#' || run.attempt AS address,
           pace.node, pace.step, pace.step_seconds, pace.seconds / pace.steps AS mean_step_seconds,
           datetime(pace.time / 1000, 'unixepoch') AS time,
           pace.run
      FROM pace
      JOIN run ON run.id = pace.run
      JOIN phase ON phase.id = run.phase;

CREATE TABLE node_health (
    -- A node that new jobs leave out, because the node made a run fail or because a person wants
    -- it. For each node, the newest row counts.
    id      INTEGER PRIMARY KEY,
    node    TEXT NOT NULL,    -- the name of the node in Slurm
    cause   TEXT CHECK (cause IN ('node_fail', 'launch', 'preflight')), -- the cause of the run's
                              -- failure; NULL: a person wants it
    run     INTEGER REFERENCES run DEFERRABLE INITIALLY DEFERRED, -- the run that failed
    message TEXT,             -- why jobs leave the node out, for people
    since   INTEGER NOT NULL, -- when the row was recorded
    until   INTEGER,          -- when jobs may use the node again; NULL: when a person clears the
                              -- node
    count   INTEGER NOT NULL, -- failures in a row, each within a week of the failure before; 0: the
                              -- node has not failed
    cleared INTEGER           -- when a person cleared the node
) STRICT;

CREATE INDEX node_health_node ON node_health (node);

CREATE VIEW v_node AS
    -- Nodes that new jobs leave out now, why, and until when.
    SELECT health.node, health.cause,
           phase.workflow || '/' || phase.name || '#' || run.attempt AS address, health.message,
           datetime(health.since / 1000, 'unixepoch') AS since,
           datetime(health.until / 1000, 'unixepoch') AS until,
           health.count
      FROM node_health AS health
      LEFT JOIN run ON run.id = health.run
      LEFT JOIN phase ON phase.id = run.phase
     WHERE health.id IN (SELECT max(id) FROM node_health GROUP BY node)
       AND health.cleared IS NULL
       AND ifnull(health.until > CAST(strftime('%s') AS INTEGER) * 1000, 1);
