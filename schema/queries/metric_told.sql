-- The reported rows of a run up to a step: the first and the last row, the longest interval between
-- two rows, and whether a checkpoint between the two shows that checkpoints and rows count the same
-- steps.
WITH row (step, gap) AS (
    SELECT step, step - lag(step) OVER (ORDER BY step)
      FROM (SELECT DISTINCT step FROM metric WHERE run = :run AND step <= :step_max)
), told (first, last, gap) AS (
    SELECT min(step), max(step), max(gap) FROM row
)
SELECT run.attempt, ifnull(told.first, -1), ifnull(told.last, -1), ifnull(told.gap, 0),
       EXISTS (SELECT 1 FROM checkpoint
                WHERE checkpoint.run = :run AND checkpoint.step BETWEEN told.first AND told.last)
  FROM told
  JOIN run ON run.id = :run
