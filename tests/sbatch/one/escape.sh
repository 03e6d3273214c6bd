#!/bin/bash
#SBATCH --time=60
printf "[1mbold[0m\n"
