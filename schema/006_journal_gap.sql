-- Version 6: what the record knows to be missing.

CREATE TABLE journal_gap (
    -- Entries of a node's journal that were lost before they came into this record.
    run       INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    node      TEXT NOT NULL,
    first_seq INTEGER NOT NULL, -- sequence number of the first entry that is missing
    last_seq  INTEGER NOT NULL, -- and of the last one
    PRIMARY KEY (run, node, first_seq)
) STRICT, WITHOUT ROWID;
