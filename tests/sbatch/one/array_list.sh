#!/bin/bash
#SBATCH --array=7,1,3-9:3,3 -t 10
#SBATCH --nodes=2
echo "$SLURM_ARRAY_TASK_ID"
