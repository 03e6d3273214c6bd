#!/bin/bash
#SBATCH -J letters -p gpu -A physics
#SBATCH -N2 -n 16 -c4
#SBATCH -t 90
#SBATCH -G 16 -q high -C "h100&ib" -x n7,n8
#SBATCH -vQ
srun ./train
