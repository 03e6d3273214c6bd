-- Of a run of many nodes those that were silent longest.
SELECT node, time / 1000.0 AS time, evidence
  FROM evidence
 WHERE run = :run
 ORDER BY silent DESC, node LIMIT 8
