SELECT node FROM node_health
 WHERE id IN (SELECT max(id) FROM node_health GROUP BY node)
   AND cleared IS NULL AND ifnull(until > :now, 1)
 ORDER BY node
