#!/bin/bash
#SBATCH -t 0
./train
