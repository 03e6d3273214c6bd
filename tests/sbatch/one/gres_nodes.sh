#!/bin/bash
#SBATCH --gres=nvme:1,gpu:h100:8 --gpus=24 --time=60
srun --ntasks-per-node=8 python train.py
