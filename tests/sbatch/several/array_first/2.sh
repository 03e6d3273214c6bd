#!/bin/sh
#SBATCH -t 10 --array=0-3
true
