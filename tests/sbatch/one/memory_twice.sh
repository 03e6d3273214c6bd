#!/bin/bash
#SBATCH --time=1:00:00
#SBATCH --mem=64G --mem-per-cpu=4G
hostname
