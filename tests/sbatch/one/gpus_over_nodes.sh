#!/bin/bash
#SBATCH --time=60 --mem=12gb --gpus=12 --ntasks-per-node=4
srun train
