INSERT INTO phase (id, workflow, position, name, state, hold, reason, overridden,
                   checkpoint_path, checkpoint_step, attempts, failures, losses, stalls,
                   remedies, remedy, rung, promote, on_fail, has_checkpoint, nodes, gpus_per_node, cpus_per_node, gpu_type, alternatives,
                   time_s, stop_s, linger_s, slurm_options, beside, anew,
                   total, usd_per_node_hour, usd_per_gpu_hour, spec)
VALUES (:id, :workflow, :position, :name, :state, :hold, :reason, :overridden,
        :checkpoint_path, :checkpoint_step, :attempts, :failures, :losses, :stalls,
        :remedies, :remedy, :rung, :promote, :on_fail, :has_checkpoint, :nodes, :gpus_per_node, :cpus_per_node, :gpu_type, :alternatives,
        :time_s, :stop_s, :linger_s, :slurm_options, :beside, :anew,
        :total, :usd_per_node_hour, :usd_per_gpu_hour, :spec)
