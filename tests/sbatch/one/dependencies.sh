#!/bin/bash
#SBATCH --dependency=AfterAny:7_1:8,after:9+5,singleton --time=60
./train
