#!/bin/bash
#SBATCH --job-name=模型-訓練
#SBATCH --time=20
echo "$SLURM_JOB_NAME"
