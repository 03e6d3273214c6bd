#!/bin/bash
#SBATCH --ntasks=16 --gpus-per-task=1 --time=60
srun python train.py
