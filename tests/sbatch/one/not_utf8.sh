#!/bin/bash
#SBATCH --time=60
printf "ÿ"
