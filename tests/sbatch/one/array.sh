#!/bin/bash
#SBATCH --array=0-15%4
#SBATCH --time=60
python sweep.py --index "$SLURM_ARRAY_TASK_ID"
