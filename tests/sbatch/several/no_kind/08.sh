#!/bin/bash
#SBATCH -t 9 -J no8 -d afterok:PREP_ID:77
echo
