-- name: run_save
-- A run, new or changed.
INSERT INTO run (id, phase, attempt, rung, state, outcome, cause, stop_reason, message, seat,
                 job, in_place,
                 begun, wish, resume_path, resume_step, begin_step, last_step, exit_code, signal,
                 submitted, started, ended, silent_since, told, job_started)
VALUES (:id, :phase, :attempt, :rung, :state, :outcome, :cause, :stop_reason, :message, :seat,
        :job, :in_place,
        :begun, :wish, :resume_path, :resume_step, :begin_step, :last_step, :exit_code, :signal,
        :submitted, :started, :ended, :silent_since, :told, :job_started)
ON CONFLICT (id) DO UPDATE
   SET state = excluded.state, outcome = excluded.outcome, cause = excluded.cause,
       stop_reason = excluded.stop_reason,
       message = excluded.message, job = excluded.job, in_place = excluded.in_place,
       begun = excluded.begun, wish = excluded.wish,
       resume_path = excluded.resume_path, resume_step = excluded.resume_step,
       begin_step = excluded.begin_step, last_step = excluded.last_step,
       exit_code = excluded.exit_code, signal = excluded.signal,
       submitted = excluded.submitted, started = excluded.started, ended = excluded.ended,
       silent_since = excluded.silent_since, told = excluded.told,
       job_started = excluded.job_started;

-- name: run_load
-- The runs of a workflow for the model.
SELECT phase.position, run.seat, run.job, run.id, run.attempt, run.rung, run.state, run.outcome,
       run.cause, run.stop_reason, run.message, run.in_place, run.begun, run.wish, run.resume_path,
       run.resume_step, ifnull(run.begin_step, -1) AS begin_step, run.last_step, run.exit_code,
       run.signal, run.submitted, run.started, run.ended, run.silent_since, run.told,
       run.job_started, ifnull(run.suspect_step, -1) AS suspect_step, run.suspected,
       EXISTS (SELECT 1 FROM checkpoint
                WHERE checkpoint.run = run.id
                  AND checkpoint.path = phase.checkpoint_path) AS has_saved,
       EXISTS (SELECT 1 FROM remedy WHERE remedy.run = run.id) AS remedied,
       EXISTS (SELECT 1 FROM outbox WHERE kind = 'tell-end' AND target = run.id) AS let_go
  FROM phase
  JOIN run ON run.phase = phase.id
 WHERE phase.workflow = :workflow
 ORDER BY run.id;

-- name: run_find
-- A run by its address.
SELECT run.id
  FROM phase
  JOIN run ON run.phase = phase.id
 WHERE phase.workflow = :workflow AND phase.name = :name AND run.attempt = :attempt;

-- name: run_find_workflow
-- The workflow of a run.
SELECT phase.workflow FROM run JOIN phase ON phase.id = run.phase WHERE run.id = :run;

-- name: run_nodes_set
-- The nodes of a run, as its workers report them.
UPDATE run SET nodes = :nodes WHERE id = :run;

-- name: run_hardware_set
-- The GPUs that a run got, and the overlay for their type.
UPDATE run SET gpu = :gpu, by_gpu = :by_gpu WHERE id = :run;

-- name: run_answer
-- A run. A run that starts anew for phased may still resume by itself, and count on from the phase
-- before. So its first step comes from its metrics: the first reported step, less the distance to
-- the second.
SELECT phase.workflow || '/' || phase.name || '#' || run.attempt AS address,
       run.id AS run, phase.name AS phase, run.attempt, run.state, run.wish,
       CASE WHEN run.outcome = 'cancelled' AND run.wish = 'hold' THEN 'held'
            ELSE run.outcome END AS outcome, run.cause, run.stop_reason,
       run.state = 'ended' AND run.cause IS 'launch' AND NOT run.begun
           AND job.slurm_id IS NULL AS "refused?",
       ifnull(run.message, '') AS message,
       job.slurm_id AS job_id, job.state AS job_state, ifnull(job.reason, '') AS job_reason,
       CASE WHEN run.state <> 'ended' THEN job.absent_since / 1000.0 END AS job_absent_since,
       job.restarts, coalesce(run.nodes, job.nodes, '') AS "nodes[]", run.exit_code, run.signal,
       run.submitted / 1000.0 AS submitted, run.started / 1000.0 AS started,
       run.ended / 1000.0 AS ended,
       CASE WHEN run.resume_step > 0 THEN run.resume_step
            ELSE ifnull((SELECT max(2 * step - next, 0)
                           FROM (SELECT step, name,
                                        (SELECT min(later.step)
                                           FROM metric AS later
                                          WHERE later.run = :run AND later.name = metric.name
                                            AND later.step > metric.step) AS next
                                   FROM metric
                                  WHERE run = :run)
                          WHERE next IS NOT NULL
                          ORDER BY name, step
                          LIMIT 1), 0) END AS first_step,
       CASE WHEN run.last_step >= 0 THEN run.last_step END AS last_step,
       run.resume_path AS resume,
       :runs || '/' || phase.workflow || '/' || phase.name || '/' || run.attempt AS run_dir,
       run.in_place AS "in_place?", run.gpu,
       CASE WHEN run.by_gpu IS NOT NULL THEN run.by_gpu
            WHEN run.gpu IS NOT NULL AND json_array_length(phase.spec, '$.by_gpu') > 0 THEN ''
       END AS by_gpu,
       (SELECT group_concat(name)
          FROM (SELECT DISTINCT mate.name
                  FROM run AS other
                  JOIN phase AS mate ON mate.id = other.phase
                 WHERE other.job = run.job AND other.phase <> run.phase
                   AND CASE WHEN run.state <> 'ended' THEN other.state <> 'ended'
                            ELSE other.started < run.ended
                                 AND (other.state <> 'ended'
                                      OR other.ended > ifnull(run.started, run.ended)) END
                 ORDER BY mate.position)) AS "beside[]",
       '{"cause":"' || remedy.cause || '","number":' || remedy.number || ',"times":'
           || remedy.times || ',"resume":"' || remedy.resume || '","changes":' || remedy.changes
           || '}' AS "remedy{}"
  FROM run
  JOIN phase ON phase.id = run.phase
  JOIN job ON job.id = run.job
  LEFT JOIN remedy ON remedy.run = run.id
 WHERE run.id = :run;

-- name: runs_all
-- The newest runs.
SELECT id FROM run ORDER BY id DESC LIMIT :limit;

-- name: runs_of_workflow
-- The newest runs of a workflow.
SELECT run.id
  FROM phase
  JOIN run ON run.phase = phase.id
 WHERE phase.workflow = :workflow
 ORDER BY run.id DESC
 LIMIT :limit;

-- name: runs_of_phase
-- The runs of a phase, newest first.
SELECT id FROM run WHERE phase = :phase ORDER BY attempt DESC;

-- name: runs_at_work
-- Runs with an allocation, in workflows that are not over.
SELECT run.id, phase.workflow || '/' || phase.name || '#' || run.attempt AS address
  FROM workflow
  JOIN phase ON phase.workflow = workflow.id
  JOIN run ON run.phase = phase.id
 WHERE workflow.ended IS NULL AND run.state IN ('starting', 'running', 'stopping')
 ORDER BY run.id
 LIMIT 1000;

-- name: run_warnings
-- The newest warnings. The index finds the warnings of a workflow, but not those of a run.
SELECT event.time / 1000.0 AS time, event.message
  FROM event
 WHERE event.workflow = (SELECT phase.workflow FROM run JOIN phase ON phase.id = run.phase
                          WHERE run.id = :run)
   AND event.run = :run AND event.type = 'warning'
 ORDER BY event.id DESC LIMIT 10;

-- name: secret_set
-- The key of the messages of a run.
UPDATE run SET secret = :secret WHERE id = :run;

-- name: secret_get
-- The key of the messages of a run.
SELECT secret FROM run WHERE id = :run AND secret IS NOT NULL;

-- name: failure_put
-- The failure that was recognised in the logs of a run.
INSERT INTO failure (run, name, cause, line, rank, node, advice, blame)
VALUES (:run, :name, :cause, :line, :rank, :node, :advice, :blame)
ON CONFLICT (run) DO UPDATE
   SET name = excluded.name, cause = excluded.cause, line = excluded.line, rank = excluded.rank,
       node = excluded.node, advice = excluded.advice, blame = excluded.blame;

-- name: failure_answer
-- The failure that was recognised in the logs of a run.
SELECT name, line, rank, node, advice, blame FROM failure WHERE run = :run;

-- name: evidence_put
-- The newest evidence of a node about a hang.
INSERT OR REPLACE INTO evidence (run, node, time, silent, summary, evidence)
VALUES (:run, :node, :time, :silent, :summary, :evidence);

-- name: evidence_answer
-- The evidence of a run with many nodes: the nodes that were silent longest come first.
SELECT node, time / 1000.0 AS time, evidence
  FROM evidence
 WHERE run = :run
 ORDER BY silent DESC, node LIMIT 8;
