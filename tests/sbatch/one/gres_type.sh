#!/bin/bash
#SBATCH --gres=gpu:a100-sxm4-40gb
#SBATCH -t 5
./train
