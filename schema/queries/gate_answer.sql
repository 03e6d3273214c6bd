-- `run` is the newest run that was judged, or NULL.
SELECT phase.workflow || '/' || phase.name AS phase,
       CASE WHEN phase.state = 'succeeded' THEN 'passed'
            WHEN max(verdict.outcome <> 'passed' AND NOT verdict.warn) THEN 'failed'
            WHEN verdict.id IS NOT NULL THEN 'passed' END AS decided,
       CASE WHEN phase.state = 'succeeded' AND phase.overridden THEN 'user'
            WHEN phase.state = 'succeeded' OR verdict.id IS NOT NULL THEN 'gate' END AS decided_by,
       CASE WHEN phase.overridden
            THEN (SELECT max(time) FROM event
                   WHERE event.workflow = phase.workflow AND event.phase = phase.id
                     AND event.to_state = 'succeeded')
            ELSE max(verdict.time) END / 1000.0 AS time
  FROM phase
  LEFT JOIN verdict ON verdict.run = :run AND verdict.kind = 'gate'
 WHERE phase.id = :phase
