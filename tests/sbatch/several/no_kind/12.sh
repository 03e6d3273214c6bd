#!/bin/bash
#SBATCH -t 9 -J no12 -d afterok:
echo
