#!/bin/bash
#SBATCH -t 10
  # an indented comment ends nothing
#SBATCH --gres=gpu:8
	#SBATCH --nodes=4
#SBATCH --cpus-per-task=7
  true
#SBATCH --mem=1G
