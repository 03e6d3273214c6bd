-- The pace of each node of a run. A run that has ended has made its last step on all nodes.
SELECT pace.node, CASE WHEN run.state = 'ended' THEN max(pace.step, run.last_step)
                       ELSE pace.step END AS step,
       pace.step_seconds, pace.seconds / pace.steps AS mean_step_seconds,
       pace.time / 1000.0 AS time
  FROM pace
  JOIN run ON run.id = pace.run
 WHERE pace.run = :run
 ORDER BY node
 LIMIT 1024
