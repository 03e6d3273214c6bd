#!/bin/bash
#sbatch --time=3
#SBATCH-J glued -t60
#SBATCHING is no option
# after it: scontrol requeue "$SLURM_JOB_ID"
./train # not sbatch train.sh
./my-sbatch-wrapper "${#runs[@]}" $#
