#!/bin/bash
#SBATCH --nodes=1 --gpus-per-node=8 --time=60
#SBATCH hetjob
#SBATCH --nodes=4 --time=60
srun --het-group=0 ./learner : --het-group=1 ./actor
