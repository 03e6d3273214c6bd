#!/bin/bash
#SBATCH --partition=short --gpus=1 --time=60 --account=mine
./train
