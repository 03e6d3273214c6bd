-- The evidence of a run with many nodes: the nodes that were silent longest come first.
SELECT node, time / 1000.0 AS time, evidence
  FROM evidence
 WHERE run = :run
 ORDER BY silent DESC, node LIMIT 8
