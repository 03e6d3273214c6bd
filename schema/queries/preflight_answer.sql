-- The results of preflight on a run's nodes, the worst first.
SELECT preflight.node, preflight.level, preflight.observed AS "observed?", preflight.outcome,
       ifnull(preflight.reason, '') AS reason, preflight.lasted / 1000.0 AS seconds,
       preflight.time / 1000.0 AS time,
       CASE WHEN health.cleared IS NULL THEN health.until / 1000.0 END AS excluded_until
  FROM preflight
  LEFT JOIN node_health AS health
    ON health.run = preflight.run AND health.node = preflight.node AND health.cause = 'preflight'
 WHERE preflight.run = :run
 ORDER BY CASE preflight.outcome WHEN 'failed' THEN 0 WHEN 'passed' THEN 2 ELSE 1 END,
          preflight.node
 LIMIT 100
