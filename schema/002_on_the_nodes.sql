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

-- Remedies.

-- Phases side by side in one job.

-- By hardware.
