#!/bin/bash
#SBATCH --distribution=block:cyclic --hint=nomultithread --cpu-freq=high --mem-bind=local
#SBATCH --gpu-bind=closest --profile=task --overcommit --ntasks=4 --nodes=1 --time=60
srun ./train
