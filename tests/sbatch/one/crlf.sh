#!/bin/bash
#SBATCH --job-name=windows
#SBATCH --gres=gpu:2
#SBATCH --time=15

set -x
echo "one two" \
    three
