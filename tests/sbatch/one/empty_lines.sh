#!/bin/bash
#SBATCH --time=10
echo 1












echo 2
