-- Version 7: whether a program resumes by itself.

-- The first step that it has told; -1: none. NULL: the run began before this was recorded.
ALTER TABLE run ADD COLUMN begin_step INTEGER;
