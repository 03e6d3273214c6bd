#!/bin/bash
#SBATCH --gres=gpu:4 --gpus=12 --ntasks-per-node=4 --time=60
srun python train.py
