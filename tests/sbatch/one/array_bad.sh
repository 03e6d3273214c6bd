#!/bin/bash
#SBATCH --array=3-1 -t 10
true
