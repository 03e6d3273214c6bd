#!/bin/bash
#SBATCH --ntasks=30 --ntasks-per-node=8 --time=60
srun ./simulate
