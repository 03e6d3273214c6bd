# daemon/slurm
