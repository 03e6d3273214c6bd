-- Version 2: what the nodes tell besides metrics.

-- Preflight.

CREATE TABLE preflight (
    -- What the look at a node before a run has found.
    run      INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    node     TEXT NOT NULL,
    level    TEXT NOT NULL,    -- quick, full
    observed INTEGER NOT NULL, -- 1: a failure is only reported
    outcome  TEXT NOT NULL CHECK (outcome IN ('passed', 'failed', 'could not tell')),
    reason   TEXT,             -- why it has not passed
    lasted   INTEGER NOT NULL, -- milliseconds
    time     INTEGER NOT NULL,
    PRIMARY KEY (run, node)
) STRICT, WITHOUT ROWID;

CREATE TABLE preflight_row (
    -- One thing that it looked at.
    run      INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    node     TEXT NOT NULL,
    position INTEGER NOT NULL, -- from 0
    name     TEXT NOT NULL,    -- gpus, model, memory, ...
    outcome  TEXT NOT NULL CHECK (outcome IN ('passed', 'failed', 'could not tell')),
    text     TEXT,             -- the figure, or the reason
    PRIMARY KEY (run, node, position)
) STRICT, WITHOUT ROWID;

CREATE VIEW v_preflight AS
    -- What was found on the nodes of runs, with addresses.
    SELECT phase.workflow || '/' || phase.name || '#' || run.attempt AS address,
           preflight.node, preflight.level, preflight.outcome, preflight.reason,
           preflight.lasted / 1000.0 AS seconds,
           datetime(preflight.time / 1000, 'unixepoch') AS time, preflight.run
      FROM preflight
      JOIN run ON run.id = preflight.run
      JOIN phase ON phase.id = run.phase;

-- Telemetry.

CREATE TABLE gpu (
    -- A GPU that a run had on a node.
    id         INTEGER PRIMARY KEY,
    run        INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    node       TEXT NOT NULL,
    number     INTEGER NOT NULL, -- the driver's, in the order of the bus
    model      TEXT,             -- as the driver names it
    uuid       TEXT,             -- likewise: by it a card is known again
    memory_mib INTEGER,          -- that it has
    sampled    INTEGER NOT NULL DEFAULT 0, -- seconds in which it told how busy it was
    idle       INTEGER NOT NULL DEFAULT 0, -- of these those of means below 5 %
    UNIQUE (run, node, number)
) STRICT;

CREATE TABLE sample (
    -- What a GPU did, as means of 1, 10 or 60 s. What the driver does not tell is NULL.
    gpu                  INTEGER NOT NULL REFERENCES gpu DEFERRABLE INITIALLY DEFERRED,
    seconds              INTEGER NOT NULL CHECK (seconds IN (1, 10, 60)), -- that it stands for
    time                 INTEGER NOT NULL, -- when they began
    util                 INTEGER,          -- percent of the time in which a kernel ran
    memory_util          INTEGER,          -- percent of the time in which memory was read or written
    memory_mib           INTEGER,          -- in use, the highest
    power_w              INTEGER,          -- W
    temperature_c        INTEGER,          -- degrees Celsius, the highest
    memory_temperature_c INTEGER,          -- likewise of its memory
    sm_clock_mhz         INTEGER,          -- of the processors
    memory_clock_mhz     INTEGER,          -- of the memory
    clock_reasons        INTEGER,          -- what held the clocks back: all bits of NVML that were set
    ecc_corrected        INTEGER,          -- errors of memory since the driver was loaded
    ecc_uncorrected      INTEGER,          -- likewise
    xid                  INTEGER,          -- the last one that was reported since the run began
    sm_active            INTEGER,          -- percent of the cycles in which processors had work
    tensor_active        INTEGER,          -- likewise tensor cores
    dram_active          INTEGER,          -- likewise the memory
    PRIMARY KEY (gpu, seconds, time)
) STRICT, WITHOUT ROWID;

-- Those that are made coarser as they age.
CREATE INDEX sample_fine ON sample (time) WHERE seconds < 60;

CREATE VIEW v_sample AS
    -- What the GPUs of runs did, with addresses.
    SELECT phase.workflow || '/' || phase.name || '#' || run.attempt AS address,
           gpu.node, gpu.number, sample.seconds,
           datetime(sample.time / 1000, 'unixepoch') AS time,
           sample.util, sample.memory_util, sample.memory_mib, sample.power_w,
           sample.temperature_c, sample.memory_temperature_c, sample.sm_clock_mhz, sample.memory_clock_mhz,
           sample.clock_reasons, sample.ecc_corrected, sample.ecc_uncorrected, sample.xid,
           sample.sm_active, sample.tensor_active, sample.dram_active,
           gpu.model, gpu.run
      FROM sample
      JOIN gpu ON gpu.id = sample.gpu
      JOIN run ON run.id = gpu.run
      JOIN phase ON phase.id = run.phase;

CREATE VIEW v_gpu AS
    -- The GPUs that runs had, and how much of the time they did nothing.
    SELECT phase.workflow || '/' || phase.name || '#' || run.attempt AS address,
           gpu.node, gpu.number, gpu.model, gpu.uuid, gpu.memory_mib,
           gpu.sampled / 3600.0 AS hours, 100.0 * gpu.idle / nullif(gpu.sampled, 0) AS idle_percent,
           gpu.run
      FROM gpu
      JOIN run ON run.id = gpu.run
      JOIN phase ON phase.id = run.phase;

CREATE TABLE pace (
    -- How fast the steps of a node came, of a node whose first rank prints them.
    run          INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    node         TEXT NOT NULL,
    step         INTEGER NOT NULL, -- the newest
    step_seconds REAL NOT NULL,    -- that one took on average, in the newest minute
    steps        INTEGER NOT NULL, -- of all minutes
    seconds      REAL NOT NULL,    -- that these took
    time         INTEGER NOT NULL, -- of the newest minute's end
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

-- Hangs.

CREATE TABLE evidence (
    -- What a node found out about a run that seemed to hang, before it was stopped.
    run      INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    node     TEXT NOT NULL,
    time     INTEGER NOT NULL,
    silent   REAL,             -- seconds without a sign of life on this node
    summary  TEXT,             -- the most telling of it, for people
    evidence TEXT NOT NULL,    -- all of it, as JSON
    PRIMARY KEY (run, node)
) STRICT, WITHOUT ROWID;

-- Failures.

CREATE TABLE failure (
    -- What was recognised of why a run failed, by a line that it printed.
    run    INTEGER PRIMARY KEY REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    name   TEXT NOT NULL, -- of the entry in the catalogue: cuda_oom
    cause  TEXT NOT NULL, -- of the run's failure, which follows from it
    line   TEXT NOT NULL, -- as it was printed, shortened
    rank   INTEGER,       -- which printed it; NULL: not known
    node   TEXT,          -- likewise
    advice TEXT,
    blame  TEXT NOT NULL CHECK (blame IN ('none', 'node', 'code'))
) STRICT;

CREATE INDEX failure_name ON failure (name);

CREATE VIEW v_failure AS
    -- What was recognised of failed runs.
    SELECT phase.workflow || '/' || phase.name || '#' || run.attempt AS address,
           failure.name, failure.cause, failure.blame, failure.rank, failure.node, failure.line,
           datetime(run.ended / 1000, 'unixepoch') AS ended,
           run.id AS run
      FROM failure
      JOIN run ON run.id = failure.run
      JOIN phase ON phase.id = run.phase;

-- Remedies.

-- What the spec says is to be tried, and how often it was: [{"cause": "oom", "times": 2, "used": 1,
-- "resume": "checkpoint"}]; NULL: nothing.
ALTER TABLE phase ADD COLUMN remedies TEXT;
-- The place in this list, from 0, of the one that is being worked out.
ALTER TABLE phase ADD COLUMN remedy INTEGER;

CREATE TABLE remedy (
    -- A change of params between two runs of a phase.
    id      INTEGER PRIMARY KEY,
    run     INTEGER NOT NULL UNIQUE REFERENCES run DEFERRABLE INITIALLY DEFERRED, -- that failed
    cause   TEXT NOT NULL,    -- whose remedy: of runs, or the name of a guard or of a gate's check
    number  INTEGER NOT NULL, -- the 1 of 1 of 2: of this phase's remedies for this cause
    times   INTEGER NOT NULL, -- the 2
    resume  TEXT NOT NULL CHECK (resume IN ('checkpoint', 'start', 'previous')), -- from where
    changes TEXT NOT NULL,    -- [{"param": "micro_batch", "from": 32, "to": 16}]
    time    INTEGER NOT NULL
) STRICT;

-- The same table with one kind more.
CREATE TABLE outbox_new (
    -- What the daemon has decided to do and does not yet know to be done.
    id       INTEGER PRIMARY KEY AUTOINCREMENT, -- in the order of the decisions
    kind     TEXT NOT NULL CHECK (kind IN ('submit', 'lookup', 'cancel-job', 'begin-job',
                 'read-outcome', 'judge', 'remedy', 'tell-stop', 'tell-next', 'tell-end')),
    target   INTEGER NOT NULL, -- the id of the job, run or phase that it is done to
    workflow INTEGER NOT NULL REFERENCES workflow DEFERRABLE INITIALLY DEFERRED,
    phase    INTEGER REFERENCES phase DEFERRABLE INITIALLY DEFERRED,
    run      INTEGER REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    job      INTEGER REFERENCES job DEFERRABLE INITIALLY DEFERRED,
    due      INTEGER,          -- not before; NULL: at once
    UNIQUE (kind, target)
) STRICT;

INSERT INTO outbox_new SELECT * FROM outbox;
DROP TABLE outbox;
ALTER TABLE outbox_new RENAME TO outbox;
CREATE INDEX outbox_workflow ON outbox (workflow);

CREATE VIEW v_remedy AS
    -- Which failure was answered by which change of params.
    SELECT phase.workflow || '/' || phase.name || '#' || run.attempt AS address,
           remedy.cause, remedy.number, remedy.times, remedy.resume, remedy.changes,
           datetime(remedy.time / 1000, 'unixepoch') AS time,
           run.id AS run
      FROM remedy
      JOIN run ON run.id = remedy.run
      JOIN phase ON phase.id = run.phase;

-- Phases side by side in one job.

ALTER TABLE phase ADD COLUMN
    beside INTEGER REFERENCES phase; -- whose allocations it shares; NULL: it has its own

ALTER TABLE job ADD COLUMN
    host INTEGER REFERENCES job; -- in whose allocation it is, which alone is submitted; NULL: its own

CREATE INDEX job_host ON job (host) WHERE host IS NOT NULL;

-- By hardware.

-- Of a run whose phase differs by GPU: the model that was there, as the driver or else Slurm names
-- it (NULL: nobody could tell), and what of by_gpu was for it: h100 (NULL: nothing).
ALTER TABLE run ADD COLUMN gpu TEXT;
ALTER TABLE run ADD COLUMN by_gpu TEXT;

-- Groups that split their input.

-- 1: the next run begins from the start, and shards that were done before count for nothing.
ALTER TABLE phase ADD COLUMN anew INTEGER NOT NULL DEFAULT 0;

-- GPUs as alternatives.

-- The types of GPUs that the phase leaves to Slurm to choose from: h200,h100; NULL: no choice.
ALTER TABLE phase ADD COLUMN alternatives TEXT;

ALTER TABLE job ADD COLUMN
    first INTEGER REFERENCES job; -- of several jobs for one run, the first of them; NULL: it is alone
ALTER TABLE job ADD COLUMN gpu_type TEXT; -- the type of GPUs that it asks for; NULL: as its phase
-- What one of them costs, where gpu_type says it; NULL: not known.
ALTER TABLE job ADD COLUMN usd_per_gpu_hour REAL;
