#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-task=h100:1 --cpus-per-task=8
#SBATCH --time=4:00:00
srun python train.py
