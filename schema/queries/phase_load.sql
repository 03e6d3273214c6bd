SELECT id, name, state, hold, reason, overridden, checkpoint_path, checkpoint_step, attempts,
       failures, losses, stalls, promote, on_fail, has_checkpoint, nodes, gpus_per_node,
       cpus_per_node, gpu_type, alternatives, time_s, stop_s, linger_s, slurm_options, rung, anew,
       remedies, remedy
  FROM phase
 WHERE workflow = :workflow
 ORDER BY position
