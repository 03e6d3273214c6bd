#!/bin/bash
#SBATCH --error=/dev/null -o/dev/null --time=60
./train
