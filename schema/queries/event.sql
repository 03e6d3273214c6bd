-- name: event_insert
-- An event of the history.
INSERT INTO event (time, workflow, phase, run, type, from_state, to_state, result, step, message)
VALUES (:time, :workflow, :phase, :run, :type, :from_state, :to_state, :result, :step, :message);

-- name: event_last
-- The number of the last event; 0: nothing has happened yet.
SELECT ifnull(max(id), 0) AS last FROM event;

-- name: events_after
-- The events of all workflows after an event.
SELECT event.id AS event, event.time / 1000.0 AS time, event.workflow, phase.name AS phase,
       event.run, event.type, event.from_state AS "from", event.to_state AS "to",
       event.result, event.step, ifnull(event.message, '') AS message
  FROM event
  LEFT JOIN phase ON phase.id = event.phase
 WHERE event.id > :after
 ORDER BY event.id
 LIMIT :limit;

-- name: events_of_workflow
-- The events of a workflow after an event.
SELECT event.id AS event, event.time / 1000.0 AS time, event.workflow, phase.name AS phase,
       event.run, event.type, event.from_state AS "from", event.to_state AS "to",
       event.result, event.step, ifnull(event.message, '') AS message
  FROM event
  LEFT JOIN phase ON phase.id = event.phase
 WHERE event.workflow = :workflow AND event.id > :after
 ORDER BY event.id
 LIMIT :limit;

-- name: notice_list
-- The notices that are due. A notice that would wait longer than the delay before its next try is
-- due too: the clock was set back after its due time was written.
SELECT notice.id AS notice, notice.kind, notice.way, notice.message, notice.tries,
       notice.time / 1000.0 AS time, notice.workflow, workflow.name,
       notice.workflow || ifnull('/' || phase.name, '') AS address,
       json_extract(CASE WHEN notice.own THEN phase.spec ELSE workflow.resolved END,
                    '$.notify.' || notice.way) AS target
  FROM notice
  JOIN workflow ON workflow.id = notice.workflow
  LEFT JOIN phase ON phase.id = notice.phase
 WHERE notice.done IS NULL AND (notice.due <= :now
        OR notice.due > :now + min(:first << min(max(notice.tries - 1, 0), 16), :last))
 ORDER BY notice.tries, notice.id
 LIMIT :limit;

-- name: notice_done
-- A notice needs no more tries.
UPDATE notice SET done = :now WHERE id = :notice;

-- name: notice_retry
-- A notice is to be tried again later.
UPDATE notice SET tries = tries + 1, due = :due WHERE id = :notice;
