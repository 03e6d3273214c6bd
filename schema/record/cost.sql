-- The record of phased: what the allocations of jobs cost. v_run has what each run pays for.

CREATE VIEW v_waiting AS
    -- The cost so far of allocations that no run pays for, because nothing ran in the allocation,
    -- or in a part of the allocation. The cost counts for the first run. A requeued job has several
    -- starts. For all starts but the newest, what follows the end of the last run is unknown and
    -- does not count. The time is computed last, so that a query about one phase computes the time
    -- only for the allocations of this phase.
    SELECT job.workflow, phase.id AS phase, first.id AS run,
           phase.workflow || '/' || phase.name || '#' || first.attempt AS address,
           coalesce(first.started, job.started, first.job_started) AS began,
           idle.ms / 1000.0 AS seconds,
           idle.ms / 3600000.0 * job.node_count * job.gpus_per_node AS gpu_hours,
           idle.ms / 3600000.0 * job.node_count
               * coalesce(phase.usd_per_node_hour, job.gpus_per_node
                   * CASE WHEN job.gpu_type IS NULL THEN phase.usd_per_gpu_hour
                          ELSE job.usd_per_gpu_hour END) AS usd
      FROM (SELECT first.job, first.id AS run,
                   CASE WHEN job.started IS NULL THEN 0.0 ELSE
                   max(CASE WHEN job.over THEN ifnull(job.ended, job.started)
                            ELSE ifnull(job.absent_since, now.ms) END
                       - job.started
                       - (SELECT total(v_run.paid_seconds) * 1000
                            FROM run AS inside
                            JOIN v_run ON v_run.run = inside.id
                           WHERE inside.job = first.job AND inside.started >= job.started), 0) END
                   + (SELECT total(max(earlier.ms, 0))
                        FROM (SELECT max(ifnull(inside.ended, now.ms)) - inside.job_started
                                         - total(v_run.paid_seconds) * 1000 AS ms
                                FROM run AS inside
                                JOIN v_run ON v_run.run = inside.id
                               WHERE inside.job = first.job
                                 AND (inside.job_started <> job.started OR job.started IS NULL)
                                 AND inside.job_started IS NOT NULL
                               GROUP BY inside.job_started) AS earlier)
                       AS ms
              FROM run AS first
              JOIN job ON job.id = first.job
              JOIN (SELECT CAST(strftime('%s') AS INTEGER) * 1000 AS ms) AS now
             WHERE first.id = (SELECT min(run.id) FROM run WHERE run.job = first.job)) AS idle
      JOIN job ON job.id = idle.job
      JOIN run AS first ON first.id = idle.run
      JOIN phase ON phase.id = first.phase
     WHERE idle.ms > 0;

CREATE VIEW v_paid AS
    -- The cost of allocations so far, by run, and waiting. `status`, `cost` and budgets sum up
    -- these rows.
    SELECT v_run.workflow, v_run.phase, v_run.run, run.started AS began, v_run.paid_seconds,
           v_run.gpu_hours, v_run.usd
      FROM v_run
      JOIN run ON run.id = v_run.run
     WHERE run.started IS NOT NULL
    UNION ALL
    SELECT workflow, phase, run, began, seconds, gpu_hours, usd
      FROM v_waiting;

CREATE VIEW v_cost AS
    -- The cost of allocations so far, by cause. useful: the steps belong to the result, or a later
    -- run went on or can go on from the steps. waiting: nothing ran in the allocation, or in a part
    -- of the allocation. repeated: the steps were made again, although the run has succeeded or has
    -- not ended. Otherwise the cause is the outcome of the run that lost the steps.
    WITH RECURSIVE used(run, until) AS (
        -- The newest run of each phase, and the runs from whose checkpoints the newest run came.
        -- `until` is the step of such a checkpoint. NULL: the run is the newest run. All its
        -- steps count while it goes on, or if it succeeded. Otherwise the steps that it has saved count.
        SELECT run.id, NULL
          FROM run
         WHERE run.attempt = (SELECT max(attempt) FROM run AS other WHERE other.phase = run.phase)
        UNION ALL
        SELECT ifnull((SELECT before.id -- the run that wrote the checkpoint
                         FROM run AS before
                         JOIN checkpoint ON checkpoint.run = before.id
                        WHERE before.phase = later.phase AND before.attempt < later.attempt
                          AND checkpoint.path = later.resume_path
                          AND checkpoint.step = later.resume_step
                        ORDER BY before.attempt DESC LIMIT 1),
                      (SELECT before.id -- or else: the path has a later checkpoint now
                         FROM run AS before
                        WHERE before.phase = later.phase AND before.attempt < later.attempt
                          AND before.last_step >= later.resume_step
                        ORDER BY before.attempt DESC LIMIT 1)),
               later.resume_step
          FROM used
          JOIN run AS later ON later.id = used.run
         WHERE later.resume_path IS NOT NULL
    ),
    share AS (
        SELECT v_run.*, run.started AS began,
               CASE
                   WHEN v_run.outcome = 'succeeded' AND member.phase IS NOT NULL
                       THEN 1.0 -- the matrix has judged by the run
                   WHEN used.run IS NULL THEN 0.0
                   WHEN used.until IS NULL
                        AND (v_run.state <> 'ended' OR v_run.outcome = 'succeeded') THEN 1.0
                   WHEN v_run.last_step <= max(v_run.first_step, 0) THEN 0.0
                   ELSE min(max((ifnull(used.until,
                                        ifnull((SELECT max(step) FROM checkpoint
                                                 WHERE checkpoint.run = v_run.run), -1))
                                 - max(v_run.first_step, 0)) * 1.0
                                / (v_run.last_step - max(v_run.first_step, 0)), 0.0), 1.0)
               END AS kept
          FROM v_run
          JOIN run ON run.id = v_run.run
          LEFT JOIN used ON used.run = v_run.run
          LEFT JOIN member ON member.phase = v_run.phase
         WHERE run.started IS NOT NULL
    )
    SELECT workflow, phase, run, address, began, 'useful' AS cause, seconds * kept AS seconds,
           paid_seconds * kept AS paid_seconds, gpu_hours * kept AS gpu_hours, usd * kept AS usd
      FROM share
     WHERE kept > 0
    UNION ALL
    SELECT workflow, phase, run, address, began,
           CASE ifnull(outcome, 'succeeded') WHEN 'succeeded' THEN 'repeated' ELSE outcome END,
           seconds * (1 - kept), paid_seconds * (1 - kept), gpu_hours * (1 - kept), usd * (1 - kept)
      FROM share
     WHERE kept < 1
    UNION ALL
    SELECT workflow, phase, run, address, began, 'waiting', seconds, seconds, gpu_hours, usd
      FROM v_waiting;
