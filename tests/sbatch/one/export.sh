#!/bin/bash
#SBATCH --export=ALL,SEED=17,WANDB_MODE=offline,EMPTY=
#SBATCH --time=60
./train
