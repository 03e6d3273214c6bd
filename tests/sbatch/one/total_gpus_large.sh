#!/bin/bash
#SBATCH --gpus=h100:12 --time=60
torchrun train.py
