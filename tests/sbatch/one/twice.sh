#!/bin/bash
#SBATCH --time=60 --nodes=8
#SBATCH --nodes=2
./train
