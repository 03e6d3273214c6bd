-- Version 5: checkpoints that were found in the folder when their run was over.

-- 1: nobody saw it become whole: where a program fails on it, none tries it twice.
ALTER TABLE checkpoint ADD COLUMN unseen INTEGER NOT NULL DEFAULT 0;
