-- Version 24: what a requeued job waited before its requeue stays in the costs.
--
-- A job that Slurm requeues starts anew. v_waiting knew only the newest start, so the time that was
-- paid without a run before the requeue was in no cost and no budget any more.
--
-- Each phase that waits for a person gives a notice. Two phases whose gates failed with the same
-- words gave only one notice.

ALTER TABLE run ADD COLUMN job_started INTEGER;

UPDATE run SET job_started = (SELECT job.started FROM job
                               WHERE job.id = run.job AND job.started <= run.started);

DROP VIEW v_waiting;

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

DROP TRIGGER notice_held;

CREATE TRIGGER notice_held AFTER INSERT ON event
    WHEN NEW.type = 'phase' AND NEW.to_state = 'held' OR NEW.to_state = 'budget'
BEGIN
    INSERT INTO notice (workflow, phase, kind, way, message, time, due)
    SELECT workflow.id, NEW.phase, wanted.value, way.column1, ifnull(NEW.message, ''), NEW.time,
           NEW.time
      FROM workflow,
           json_each(workflow.resolved, '$.notify.on') AS wanted,
           (VALUES ('command'), ('webhook')) AS way
     WHERE workflow.id = NEW.workflow AND wanted.value = NEW.to_state
       AND NOT EXISTS (SELECT 1 FROM notice AS same -- phases that a person or budget holds together
                        WHERE (NEW.to_state = 'budget'
                               OR (SELECT hold FROM phase WHERE phase.id = NEW.phase) = 'user')
                          AND same.done IS NULL AND same.workflow = NEW.workflow AND NOT same.own
                          AND same.kind = NEW.to_state AND same.way = way.column1
                          AND same.message = NEW.message AND same.time > NEW.time - 10000)
       AND json_extract(workflow.resolved, '$.notify.' || way.column1) IS NOT NULL;
END;
