#!/bin/bash
#SBATCH --time=60 --signal=USR1
./train
