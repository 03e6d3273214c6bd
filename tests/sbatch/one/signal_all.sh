#!/bin/bash
#SBATCH --signal=SIGTERM@90 --time=60
./train
