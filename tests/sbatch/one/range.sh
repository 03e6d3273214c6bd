#!/bin/bash
#SBATCH --nodes=2-4 --ntasks=10 --time=60
srun ./train
