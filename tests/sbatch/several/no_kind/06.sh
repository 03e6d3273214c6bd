#!/bin/bash
#SBATCH -t 9 -J no6 -d afternotok:prep?afterok:3
echo
