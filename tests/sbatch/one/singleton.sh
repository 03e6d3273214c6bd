#!/bin/bash
#SBATCH --dependency=singleton --time=60
./train
