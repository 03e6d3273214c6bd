#!/bin/bash
#SBATCH --clusters=all --container=/x --time=60
#SBATCH --uid=0 --export-file=x --nodefile=y --gpus-per-socket=2 --test-only --bbf=z --reboot
./train
