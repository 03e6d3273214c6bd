#!/bin/bash
#SBATCH --job-name=prep data --time=1:00:00
#SBATCH data
python train.py
