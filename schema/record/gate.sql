-- The record of phased: metrics, and what gates and guards made of them.

CREATE TABLE metric_name (
    -- Names of metrics, so that `metric` stays small.
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE metric (
    -- A value of a metric at a step of a run. v_metric shows names and phases.
    run   INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    name  INTEGER NOT NULL REFERENCES metric_name DEFERRABLE INITIALLY DEFERRED,
    step  INTEGER NOT NULL,
    value REAL,             -- NULL: the value was NaN, which SQLite cannot store
    time  INTEGER NOT NULL, -- when the value was reported
    PRIMARY KEY (run, name, step)
) STRICT, WITHOUT ROWID;

CREATE VIEW v_metric AS
    -- Metrics with their names. `value` is the text nan if the value was NaN.
    SELECT phase.workflow || '/' || phase.name || '#' || run.attempt AS address,
           metric_name.name, metric.step, ifnull(metric.value, 'nan') AS value,
           strftime('%Y-%m-%d %H:%M:%f', metric.time / 1000.0, 'unixepoch') AS time,
           run.id AS run
      FROM metric
      JOIN metric_name ON metric_name.id = metric.name
      JOIN run ON run.id = metric.run
      JOIN phase ON phase.id = run.phase;

CREATE TABLE verdict (
    -- What a check of a gate, or a guard, said about a run, with the values behind the verdict.
    id      INTEGER PRIMARY KEY,
    run     INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    kind    TEXT NOT NULL CHECK (kind IN ('gate', 'guard')),
    time    INTEGER NOT NULL, -- when the run was judged
    name    TEXT NOT NULL,    -- the name of the check
    outcome TEXT NOT NULL CHECK (outcome IN ('passed', 'failed', 'insufficient', 'error')),
    warn    INTEGER NOT NULL, -- 1: a failure is only shown, and nothing is done about the failure
    value   REAL,             -- the value; NULL: no value, or NaN; `verdict` distinguishes the two
    bounds  TEXT,             -- the bounds in words: at least 15
    reason  TEXT,             -- the reason of the verdict, for people
    verdict TEXT NOT NULL     -- the whole verdict, as JSON
) STRICT;

CREATE INDEX verdict_run ON verdict (run, kind);

CREATE VIEW v_verdict AS
    -- The verdicts of gates and guards.
    SELECT phase.workflow || '/' || phase.name || '#' || run.attempt AS address,
           verdict.kind, verdict.name, verdict.outcome, verdict.value, verdict.bounds,
           verdict.reason, datetime(verdict.time / 1000, 'unixepoch') AS time,
           run.id AS run
      FROM verdict
      JOIN run ON run.id = verdict.run
      JOIN phase ON phase.id = run.phase;

CREATE TABLE promotion (
    -- Who or what started a phase after another phase.
    id         INTEGER PRIMARY KEY,
    phase      INTEGER NOT NULL REFERENCES phase DEFERRABLE INITIALLY DEFERRED, -- the judged phase
    next       INTEGER NOT NULL REFERENCES phase DEFERRABLE INITIALLY DEFERRED, -- the phase that
                                 -- may start
    run        INTEGER REFERENCES run DEFERRABLE INITIALLY DEFERRED, -- the run with the verdicts
    decided_by TEXT NOT NULL CHECK (decided_by IN ('gate', 'user')), -- gate: also if the phase has
                                 -- no checks
    who        TEXT,             -- the person; NULL: a gate decided
    way        TEXT NOT NULL CHECK (way IN ('in_place', 'submitted')), -- in_place: in the same job
    time       INTEGER NOT NULL
) STRICT;

CREATE INDEX promotion_phase ON promotion (phase);

CREATE VIEW v_promotion AS
    -- Who or what started which phase, and how.
    SELECT phase.workflow || '/' || phase.name AS address, next.name AS next,
           promotion.decided_by, promotion.who, promotion.way,
           datetime(promotion.time / 1000, 'unixepoch') AS time,
           promotion.phase, promotion.run
      FROM promotion
      JOIN phase ON phase.id = promotion.phase
      LEFT JOIN phase AS next ON next.id = promotion.next;
