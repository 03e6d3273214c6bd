-- A run whose agent ended without a word may have saved what none of its rows led to. Held against
-- it is more than the interval of its rows, and more than a tenth of the steps from its first row;
-- and only where its checkpoints are counted in the steps of its rows.
WITH row (step, gap) AS (
    SELECT step, step - lag(step) OVER (ORDER BY step)
      FROM (SELECT DISTINCT step FROM metric WHERE run = :run AND step <= :step_max)
), told (first, last, gap) AS (
    SELECT min(step), max(step), max(gap) FROM row
)
SELECT run.attempt, told.last + 1
  FROM told
  JOIN run ON run.id = :run
 WHERE :step_max > told.last + told.gap
   AND 10 * (:step_max - told.last) > :step_max - told.first
   AND EXISTS (SELECT 1 FROM checkpoint
                WHERE checkpoint.run = :run AND checkpoint.step BETWEEN told.first AND told.last)
