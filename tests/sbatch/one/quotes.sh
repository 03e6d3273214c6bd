#!/bin/bash
#SBATCH --job-name="my first run" --comment='loss: 3 # of 4'   # not an option: --nodes=9
#SBATCH --time=10 --account=a\ b --wckey "x y"
##SBATCH --nodes=8
# SBATCH --nodes=7
echo done
