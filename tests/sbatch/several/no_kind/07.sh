#!/bin/bash
#SBATCH -t 9 -J no7 -d afterok:prep?afterok:3
echo
