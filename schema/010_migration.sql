-- Which steps made this schema.
CREATE TABLE migration (
    -- The steps that this file has taken. A phased whose step of that number is another refuses it.
    version INTEGER PRIMARY KEY,
    name    TEXT NOT NULL,
    digest  TEXT NOT NULL -- of the step's text
) STRICT;
