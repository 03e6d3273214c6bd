#!/bin/bash
#SBATCH --time=60 --signal=R:HUP@9
./train
