SELECT event.id AS event, event.time / 1000.0 AS time, event.workflow, phase.name AS phase,
       event.run, event.type, event.from_state AS "from", event.to_state AS "to",
       ifnull(event.message, '') AS message
  FROM event
  LEFT JOIN phase ON phase.id = event.phase
 WHERE event.id > :after
 ORDER BY event.id
 LIMIT :limit
