#!/bin/bash
#SBATCH --time=UNLIMITED
#SBATCH --nodes=two
#SBATCH --gres=gpu:h100:many
#SBATCH --mem=lots
#SBATCH --begin=tomorrowish
#SBATCH --cpus-per-task=0
#SBATCH --requeue=yes
#SBATCH --exclusive=user
#SBATCH --comment="no end
#SBATCH --partition
./train
