#!/bin/bash
#SBATCH -n 32 --gpus-per-task=1 --gpus-per-node=4 --time=60
srun python train.py
