-- A run that starts anew for phased may still resume by itself, and count on from the phase before.
-- Its first step is one step of its metrics before the first reported step.
SELECT phase.workflow || '/' || phase.name || '#' || run.attempt AS address,
       run.id AS run, phase.name AS phase, run.attempt, run.state, run.wish,
       CASE WHEN run.outcome = 'cancelled' AND run.wish = 'hold' THEN 'held'
            ELSE run.outcome END AS outcome, run.cause,
       ifnull(run.message, '') AS message,
       job.slurm_id AS job_id, job.state AS job_state, ifnull(job.reason, '') AS job_reason,
       CASE WHEN run.state <> 'ended' THEN job.absent_since / 1000.0 END AS job_absent_since,
       job.restarts, coalesce(run.nodes, job.nodes, '') AS "nodes[]", run.exit_code, run.signal,
       run.submitted / 1000.0 AS submitted, run.started / 1000.0 AS started,
       run.ended / 1000.0 AS ended,
       CASE WHEN run.resume_step > 0 THEN run.resume_step
            ELSE (SELECT CASE WHEN count(*) = 2
                              THEN max(2 * min(step) - max(step), 0) ELSE 0 END
                    FROM (SELECT step
                            FROM metric
                           WHERE metric.run = :run
                           ORDER BY name, step
                           LIMIT 2)) END AS first_step,
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
                   AND (other.state <> 'ended' OR run.state = 'ended')
                 ORDER BY mate.position)) AS "beside[]",
       '{"cause":"' || remedy.cause || '","number":' || remedy.number || ',"times":'
           || remedy.times || ',"resume":"' || remedy.resume || '","changes":' || remedy.changes
           || '}' AS "remedy{}"
  FROM run
  JOIN phase ON phase.id = run.phase
  JOIN job ON job.id = run.job
  LEFT JOIN remedy ON remedy.run = run.id
 WHERE run.id = :run
