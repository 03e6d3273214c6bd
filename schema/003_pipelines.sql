-- Version 3: what a workflow does besides one phase after the other.

-- Matrices.

-- From 0: the rung that a matrix is at; of a member the one that it was let go on to.
ALTER TABLE phase ADD COLUMN rung INTEGER NOT NULL DEFAULT 0;

CREATE TABLE matrix (
    -- A phase that runs as many phases, its members.
    phase INTEGER PRIMARY KEY REFERENCES phase DEFERRABLE INITIALLY DEFERRED,
    lanes INTEGER NOT NULL, -- in how many jobs members follow each other; 0: each has its own
    rungs INTEGER NOT NULL, -- how often members run, fewer each time; 1: once
    best  INTEGER REFERENCES phase DEFERRABLE INITIALLY DEFERRED -- the member; NULL: none yet
) STRICT;

CREATE TABLE member (
    -- A phase of a matrix, and what the matrix found of it.
    phase    INTEGER PRIMARY KEY REFERENCES phase DEFERRABLE INITIALLY DEFERRED,
    matrix   INTEGER NOT NULL REFERENCES phase DEFERRABLE INITIALLY DEFERRED,
    number   INTEGER NOT NULL, -- from 1
    params   TEXT NOT NULL,    -- those that tell it from the others, as JSON: {"BATCH_SIZE": 64}
    value    REAL,             -- of `best`; NULL: not known
    standing TEXT CHECK (standing IN ('best', 'left', 'cut', 'out')), -- NULL: not judged
    reason   TEXT,             -- why it is out, for people
    UNIQUE (matrix, number)
) STRICT;

CREATE TABLE choice (
    -- Params that a matrix's decision has changed: of itself, or of a member that went on.
    id      INTEGER PRIMARY KEY,
    phase   INTEGER NOT NULL REFERENCES phase DEFERRABLE INITIALLY DEFERRED, -- whose params
    changes TEXT NOT NULL,    -- [{"param": "BATCH_SIZE", "from": 64, "to": 128}]
    time    INTEGER NOT NULL
) STRICT;

CREATE INDEX choice_phase ON choice (phase);

CREATE VIEW v_member AS
    -- The members of matrices, with addresses.
    SELECT phase.workflow || '/' || phase.name AS address, matrix.name AS matrix, member.number,
           member.params, phase.state, member.value, member.standing, member.reason, member.phase
      FROM member
      JOIN phase ON phase.id = member.phase
      JOIN phase AS matrix ON matrix.id = member.matrix;

DROP VIEW v_workflow;
CREATE VIEW v_workflow AS
    -- Workflows, with the state that follows from those of their phases; a matrix speaks for its
    -- members when they have ended.
    SELECT workflow.id AS workflow, workflow.name,
           CASE
               WHEN min(phase.state IN ('succeeded', 'failed', 'cancelled', 'skipped')) = 0 THEN
                   CASE WHEN max(phase.state = 'held')
                             AND NOT max(phase.state IN ('queued', 'active', 'deciding'))
                        THEN 'held' ELSE 'running' END
               WHEN max(phase.state = 'failed' AND member.phase IS NULL) THEN 'failed'
               WHEN max(phase.state = 'cancelled' AND member.phase IS NULL) THEN 'cancelled'
               ELSE 'succeeded'
           END AS state,
           datetime(workflow.submitted / 1000, 'unixepoch') AS submitted,
           datetime(workflow.ended / 1000, 'unixepoch') AS ended,
           count(*) - count(member.phase) AS phases, workflow.file, workflow.workdir
      FROM workflow
      JOIN phase ON phase.workflow = workflow.id
      LEFT JOIN member ON member.phase = phase.id
     GROUP BY workflow.id;
