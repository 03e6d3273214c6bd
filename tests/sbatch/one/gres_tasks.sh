#!/bin/bash
#SBATCH -n 32 --gpus-per-task=1 --gres=gpu:4 --time=60
srun python train.py
