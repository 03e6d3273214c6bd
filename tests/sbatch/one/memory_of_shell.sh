#!/bin/bash
#SBATCH --time=1:00:00 --mem-per-cpu=4G
hostname
