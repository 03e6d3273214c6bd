#!/bin/bash
#SBATCH -t 9 -J no16 -d afterok:7x
echo
