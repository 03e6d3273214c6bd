#!/bin/bash
#SBATCH -t 9 -J train_a -d afterok:prep2
echo a
