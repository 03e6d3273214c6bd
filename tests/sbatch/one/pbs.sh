#!/bin/bash
#PBS -l nodes=2
#SBATCH --time=60
./train
