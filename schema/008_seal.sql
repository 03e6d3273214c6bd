-- The same table of what is to be done with one kind more: seal.
CREATE TABLE outbox_new (
    -- What the daemon has decided to do and does not yet know to be done.
    id       INTEGER PRIMARY KEY AUTOINCREMENT, -- in the order of the decisions
    kind     TEXT NOT NULL CHECK (kind IN ('submit', 'lookup', 'cancel-job', 'begin-job',
                 'read-outcome', 'seal', 'judge', 'remedy', 'tell-stop', 'tell-next', 'tell-end')),
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
