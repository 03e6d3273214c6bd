#!/bin/bash
#SBATCH -D "runs/it's mine" -o /dev/null -t 60
cp "$SLURM_SUBMIT_DIR/config.yaml" .
./train
