#!/bin/bash
#SBATCH --array=0-3%x -t 10
true
