#!/bin/bash
#SBATCH --gpus=16 --gpus-per-node=8 --time=60
srun --ntasks-per-node=8 python train.py
