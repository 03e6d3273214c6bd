-- Version 11: which steps may be missing.

-- The greatest that the run had told before the gap: what is missing is of it or later ones. NULL:
-- none, or it was not noted.
ALTER TABLE journal_gap ADD COLUMN after_step INTEGER;
