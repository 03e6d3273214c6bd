#!/bin/bash
#SBATCH -t 9 -J no15 -d expand:9
echo
