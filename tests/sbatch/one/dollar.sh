#!/bin/bash
#SBATCH --time=60
./train
