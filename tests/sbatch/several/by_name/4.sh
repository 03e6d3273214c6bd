#!/bin/bash
#SBATCH -t 9 -J eval -d afterok:train_a:train_b,afterok:prep2
echo eval
