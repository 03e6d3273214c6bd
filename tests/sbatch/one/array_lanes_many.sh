#!/bin/bash
#SBATCH --array=0-9%1000 -t 10
true
