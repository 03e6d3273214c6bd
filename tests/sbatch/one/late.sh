#!/bin/bash
# The next lines are read.

#SBATCH --time=60
export A=1
#SBATCH --nodes=4
./train
