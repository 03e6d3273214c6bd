-- Version 14: when checkpoints became suspect.
--
-- A checkpoint that nobody has told is good if it was written before that, and NULL says that the
-- time is not known.

ALTER TABLE run ADD COLUMN suspected INTEGER;
