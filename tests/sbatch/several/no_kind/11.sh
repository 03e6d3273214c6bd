#!/bin/bash
#SBATCH -t 9 -J no11 -d prep
echo
