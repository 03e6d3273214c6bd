#!/bin/bash
#SBATCH -t 9 -J no14 -d afterok:1,afterok:2?3
echo
