#!/bin/bash
#SBATCH -t 9 -J no2 -d afterany:prep
echo
