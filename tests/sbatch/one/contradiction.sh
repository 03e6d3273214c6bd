#!/bin/bash
#SBATCH --gres=gpu:4 --gpus-per-node=8 --time=60
#SBATCH --gres=gpu:4
#SBATCH --dependency=afterok:x
./train
