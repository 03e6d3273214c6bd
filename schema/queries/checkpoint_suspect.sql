-- Marks checkpoints that the run has reported already.
UPDATE checkpoint SET suspect = 1 WHERE run = :run AND step >= :step
