#!/bin/bash
#SBATCH --time=60 --comment='costs $5, in US$' --wckey=$$
./train
