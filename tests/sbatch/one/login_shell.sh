#!/bin/bash -l
#SBATCH --time=20
conda activate train
python train.py
