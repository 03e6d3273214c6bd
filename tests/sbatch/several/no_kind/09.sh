#!/bin/bash
#SBATCH -t 9 -J no9 -d afterok:prep+5
echo
