#!/bin/bash
#SBATCH --array=0-500 -t 10
true
