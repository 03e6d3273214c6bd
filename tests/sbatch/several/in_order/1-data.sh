#!/bin/bash
#SBATCH --job-name=data --partition=cpu --cpus-per-task=32 --time=2:00:00
python prepare.py
