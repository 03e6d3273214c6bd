#!/bin/bash
#SBATCH --hold --no-requeue --propagate=STACK --wait --no-kill --gres-flags=enforce-binding
#SBATCH --time=60 --spread-job --use-min-nodes --ntasks-per-core=1 --power=level --delay-boot=5
./train
