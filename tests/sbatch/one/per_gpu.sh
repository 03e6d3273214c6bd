#!/bin/bash
#SBATCH --nodes=2 --gpus-per-node=4 --ntasks-per-gpu=2 --mincpus=64 --time=30:00
srun ./train
