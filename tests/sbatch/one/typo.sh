#!/bin/bash
#SBATCH --gpu-per-node=8 --time=60
#SBATCH --part=gpu
#SBATCH --no=2
#SBATCH -Z train
./train
