-- What the run has told before.
UPDATE checkpoint SET suspect = 1 WHERE run = :run AND step >= :step
