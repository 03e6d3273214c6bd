#!/bin/bash
#SBATCH --gpus=2
./train
