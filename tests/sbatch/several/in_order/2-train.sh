#!/bin/bash
#SBATCH --job-name=train --gpus-per-node=h100:8 --time=24:00:00
#SBATCH --dependency=afterok:DATA
python train.py
