-- Who may write this record.
CREATE TABLE lease (
    -- The daemon that opened the record last; one that finds another one here stops. One row.
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    owner TEXT NOT NULL,    -- random, new at each start of a daemon
    pid   INTEGER NOT NULL, -- its process,
    host  TEXT NOT NULL,    -- and the machine of it
    since INTEGER NOT NULL
) STRICT;
