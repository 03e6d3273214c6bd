#!/bin/bash
#SBATCH --time=20 --wrap="python train.py"
