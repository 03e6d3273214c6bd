SELECT health.node, health.cause,
       phase.workflow || '/' || phase.name || '#' || run.attempt AS run,
       ifnull(health.message, '') AS message,
       health.since / 1000.0 AS since, health.until / 1000.0 AS until, health.count
  FROM node_health AS health
  LEFT JOIN run ON run.id = health.run
  LEFT JOIN phase ON phase.id = run.phase
 WHERE health.id IN (SELECT max(id) FROM node_health GROUP BY node)
   AND health.cleared IS NULL AND ifnull(health.until > :now, 1)
 ORDER BY health.node
