#!/bin/bash
#SBATCH --nodes=3 --gpus=8 --time=60
./train
