-- Version 2: what the nodes tell besides metrics.

-- Preflight.

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
