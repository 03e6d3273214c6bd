SELECT since, until, count, cleared FROM node_health
 WHERE node = :node
 ORDER BY id DESC LIMIT 1
