-- Version 4: checkpoints that are not gone on from by themselves.

-- What the run saved at this step or later is suspect: a guard broke there, or NaN came; NULL:
-- neither.
ALTER TABLE run ADD COLUMN suspect_step INTEGER;

-- 1: it was saved at or after what broke a guard, or NaN: only a person goes on from it.
ALTER TABLE checkpoint ADD COLUMN suspect INTEGER NOT NULL DEFAULT 0;
