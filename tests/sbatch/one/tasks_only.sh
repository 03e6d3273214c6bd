#!/bin/bash
#SBATCH --ntasks=64 --time=60
srun ./simulate
