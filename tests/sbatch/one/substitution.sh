#!/bin/bash
#SBATCH --time=20
#SBATCH --output=/scratch/$USER/%j.log
#SBATCH --job-name=run-${SEED}
echo "$USER" '$HOME' $((1 + 1)) "${x:-$y}" `date` \$z
