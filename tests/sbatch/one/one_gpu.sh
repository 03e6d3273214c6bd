#!/bin/bash
#SBATCH --nodes=2 --gpus=1 --time=60
./train
