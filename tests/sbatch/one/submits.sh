#!/bin/bash
#SBATCH --time=20
# ssh login sbatch next.sh
echo "afterwards: bash -c 'sbatch next.sh', or ssh login sbatch next.sh"
bash train.sh
ssh -o BatchMode=yes "$SLURM_SUBMIT_HOST" "
  cd $PWD
  sbatch next.sh"
bash -c 'scontrol requeue "$SLURM_JOB_ID"'
