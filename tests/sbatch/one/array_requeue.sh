#!/bin/bash
#SBATCH --array=0-3
#SBATCH --time=60
trap 'scontrol requeue "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}"' USR1
python sweep.py --index "$SLURM_ARRAY_TASK_ID" &
wait
