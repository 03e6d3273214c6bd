SELECT id, token, seat, gpu_type, slurm_id, state, reason, nodes, node_count, gpus_per_node, time_s,
       over, restarts, submitted, started, ended, absent_since,
       EXISTS (SELECT 1 FROM outbox WHERE kind = 'cancel-job' AND target = job.id)
  FROM job
 WHERE workflow = :workflow
 ORDER BY id
