#!/bin/bash
#SBATCH -t 9 -J no4 -d after:prep+5
echo
