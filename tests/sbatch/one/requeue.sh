#!/bin/bash
#SBATCH --job-name=requeue
#SBATCH --requeue --open-mode=append
#SBATCH --signal=B:USR1@300
#SBATCH --time=24:00:00
#SBATCH --gres=gpu:8
again() {
    kill -TERM "$child"
    wait "$child"
    scontrol requeue "$SLURM_JOB_ID"
}
trap again USR1
python train.py --resume &
child=$!
wait "$child"
