#!/bin/bash
#SBATCH --chdir=/scratch/run --input=/dev/null --output=%j.out
#SBATCH --time=60
./train
