#!/bin/bash
#SBATCH -n 16 --ntasks-per-gpu=1 --gpus-per-node=4 --time=60
srun python train.py
