#!/bin/bash
#SBATCH --export=NONE --get-user-env --time=60
./train
