-- Version 20: what one phase costs is read without the allocations of all other phases.
--
-- `status` asks for the cost of each phase. For each of them, v_waiting computed the time of every
-- allocation of the workflow, before it looked whose the allocation was.

DROP VIEW v_waiting;

CREATE VIEW v_waiting AS
    -- What allocations cost so far that no run pays for: nothing was there, or in a part of it. It
    -- counts for the first run. The time is computed last, from the first run on, so that a query
    -- about one phase computes it only for the allocations of that phase.
    SELECT job.workflow, phase.id AS phase, first.id AS run,
           phase.workflow || '/' || phase.name || '#' || first.attempt AS address,
           ifnull(first.started, job.started) AS began,
           idle.ms / 1000.0 AS seconds,
           idle.ms / 3600000.0 * job.node_count * job.gpus_per_node AS gpu_hours,
           idle.ms / 3600000.0 * job.node_count
               * coalesce(phase.usd_per_node_hour, job.gpus_per_node
                   * CASE WHEN job.gpu_type IS NULL THEN phase.usd_per_gpu_hour
                          ELSE job.usd_per_gpu_hour END) AS usd
      FROM (SELECT first.job, first.id AS run,
                   max(CASE WHEN job.over THEN ifnull(job.ended, job.started)
                            ELSE ifnull(job.absent_since, now.ms) END
                       - job.started
                       - (SELECT total(v_run.paid_seconds) * 1000
                            FROM run AS inside
                            JOIN v_run ON v_run.run = inside.id
                           WHERE inside.job = first.job AND inside.started >= job.started), 0)
                       AS ms
              FROM run AS first
              JOIN job ON job.id = first.job
              JOIN (SELECT CAST(strftime('%s') AS INTEGER) * 1000 AS ms) AS now
             WHERE job.started IS NOT NULL
               AND first.id = (SELECT min(run.id) FROM run WHERE run.job = first.job)) AS idle
      JOIN job ON job.id = idle.job
      JOIN run AS first ON first.id = idle.run
      JOIN phase ON phase.id = first.phase
     WHERE idle.ms > 0;

-- The newest warning of a run. Otherwise the whole history of its workflow is read for it.
CREATE INDEX event_warning ON event (run) WHERE type = 'warning';
