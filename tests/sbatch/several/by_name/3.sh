#!/bin/bash
#SBATCH -t 9 -J "train b" -d afterok:PREP2:77:prep2
echo b
