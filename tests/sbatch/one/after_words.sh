#!/bin/bash
#SBATCH --dependency=afterok:JOBID
#SBATCH --time=60
./train
