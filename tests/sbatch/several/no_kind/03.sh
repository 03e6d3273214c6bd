#!/bin/bash
#SBATCH -t 9 -J no3 -d afternotok:prep
echo
