#!/usr/bin/env bash
#SBATCH --gres=gpu:h200:4,nvme:1,license
#SBATCH --cpus-per-gpu=12
#SBATCH --mem-per-gpu=128G
#SBATCH --time=1:00:00
./train
