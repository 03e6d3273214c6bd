-- The newest warnings. The index finds the warnings of a workflow, but not those of a run.
SELECT event.time / 1000.0 AS time, event.message
  FROM event
 WHERE event.workflow = (SELECT phase.workflow FROM run JOIN phase ON phase.id = run.phase
                          WHERE run.id = :run)
   AND event.run = :run AND event.type = 'warning'
 ORDER BY event.id DESC LIMIT 10
