#!/bin/bash
#SBATCH --time=60 --mem-per-cpu=1875m --tasks-per-node=4 \
#SBATCH --job-name=small \
echo "then sbatch next.sh"
