#!/bin/bash
#SBATCH --time=60 --signal=B:WINCH@60
./train
