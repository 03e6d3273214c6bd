#!/bin/bash
#SBATCH --gres=gpu:8 --gpus-per-node=1 --time=60
./train
