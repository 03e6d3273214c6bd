#!/bin/bash
#SBATCH --job-name=train --gpus-per-node=h100:8 --time=24:00:00
#SBATCH --dependency=afterany:77
#SBATCH --dependency=afterok:77
python train.py --more
