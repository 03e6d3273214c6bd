-- What a workflow's allocations have cost, runs or not. NULL: the price is not known.
SELECT sum(ms * node_count * coalesce(per_node, per_gpu * gpus_per_node)) / 3600000,
       total(ms * node_count * gpus_per_node) / 3600000, total(ms) / 3600000
  FROM (SELECT job.node_count, job.gpus_per_node,
               max(phase.usd_per_node_hour) AS per_node,
               max(CASE WHEN job.gpu_type IS NULL THEN phase.usd_per_gpu_hour
                        ELSE job.usd_per_gpu_hour END) AS per_gpu,
               max(ifnull(CASE WHEN job.over THEN job.ended
                               ELSE ifnull(job.absent_since, :now) END - job.started, 0),
                   total(min(ifnull(run.ended, :now), ifnull(job.absent_since, :now))
                         - run.started)) AS ms
          FROM job
          JOIN run ON run.job = job.id
          JOIN phase ON phase.id = run.phase
         WHERE job.workflow = :workflow AND job.host IS NULL
         GROUP BY job.id)
