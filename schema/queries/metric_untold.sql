-- The steps that a run made and never told, because its agent was killed: the next run goes on
-- from a checkpoint beyond the last row. The steps count as missing if they are more than the
-- interval of the rows and more than a tenth of the steps since the first row. A checkpoint between
-- the first and the last row shows that checkpoints and rows count the same steps.
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
