#!/bin/bash
#SBATCH --array=1-2 -t 10 --input=in/%x-%A_%3a.txt
cat
