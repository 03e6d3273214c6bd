#!/bin/sh
#SBATCH --time=20
[ -n "$SLURM_JOB_ID" ] && echo "in a job"
