-- How fast the steps of a run's nodes come.
SELECT node, step, step_seconds, seconds / steps AS mean_step_seconds, time / 1000.0 AS time
  FROM pace
 WHERE run = :run
 ORDER BY node
 LIMIT 1024
