#!/bin/bash
#SBATCH --time=60
next=$(sbatch --parsable --dependency=afterany:$SLURM_JOB_ID "$0") # go on
[ -e done ] || exec scontrol requeue "$SLURM_JOB_ID"
