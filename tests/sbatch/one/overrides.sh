#!/bin/bash
#SBATCH --job-name=train --partition=preempt
#SBATCH --nodes=1 -t 10
python3 train.py "$@"
