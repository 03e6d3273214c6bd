#!/bin/bash
#SBATCH --dependency=afterok:1234:1235
#SBATCH --time=60
./train
