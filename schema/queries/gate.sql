-- name: verdict_insert
-- The verdict of one check of a gate or guard.
INSERT INTO verdict (run, kind, time, name, outcome, warn, value, bounds, reason, verdict)
VALUES (:run, :kind, :time, :name, :outcome, :warn, :value, :bounds, :reason, :verdict);

-- name: verdict_delete
-- Deletes the verdicts of the gate on a run, before the gate judges anew.
DELETE FROM verdict WHERE run = :run AND kind = 'gate';

-- name: gate_run
-- The newest run that a gate has judged.
SELECT max(run.id) AS run FROM run WHERE run.phase = :phase
   AND EXISTS (SELECT 1 FROM verdict WHERE verdict.run = run.id AND verdict.kind = 'gate');

-- name: gate_answer
-- The decision of a gate. `run` is the newest run that was judged, or NULL.
SELECT phase.workflow || '/' || phase.name AS phase,
       (SELECT phase.workflow || '/' || phase.name || '#' || run.attempt
          FROM run WHERE run.id = :run) AS run,
       CASE WHEN phase.state = 'succeeded' THEN 'passed'
            WHEN max(verdict.outcome <> 'passed' AND NOT verdict.warn) THEN 'failed'
            WHEN verdict.id IS NOT NULL THEN 'passed' END AS decided,
       CASE WHEN phase.state = 'succeeded' AND phase.overridden THEN 'user'
            WHEN phase.state = 'succeeded' OR verdict.id IS NOT NULL THEN 'gate' END AS decided_by,
       CASE WHEN phase.overridden
            THEN (SELECT max(time) FROM event
                   WHERE event.workflow = phase.workflow AND event.phase = phase.id
                     AND event.to_state = 'succeeded')
            ELSE max(verdict.time) END / 1000.0 AS time,
       json_extract(phase.spec, '$.gate') AS "criteria{}"
  FROM phase
  LEFT JOIN verdict ON verdict.run = :run AND verdict.kind = 'gate'
 WHERE phase.id = :phase;

-- name: gate_checks
-- The checks of the gate on a run.
SELECT verdict FROM verdict WHERE run = :run AND kind = 'gate' ORDER BY id;

-- name: guard_checks
-- The checks of guards that stopped a run, warned, or could not be judged.
SELECT verdict FROM verdict
 WHERE run = :run AND kind = 'guard' AND outcome <> 'passed'
 ORDER BY id LIMIT 20;
