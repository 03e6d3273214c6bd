-- A phase with other params: replaces everything that comes from the spec.
UPDATE phase
   SET promote = :promote, on_fail = :on_fail, has_checkpoint = :has_checkpoint, nodes = :nodes,
       gpus_per_node = :gpus_per_node, cpus_per_node = :cpus_per_node, gpu_type = :gpu_type,
       alternatives = :alternatives,
       time_s = :time_s, stop_s = :stop_s, linger_s = :linger_s, slurm_options = :slurm_options,
       total = :total, usd_per_node_hour = :usd_per_node_hour,
       usd_per_gpu_hour = :usd_per_gpu_hour, spec = :spec
 WHERE id = :id
