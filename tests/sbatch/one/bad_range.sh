#!/bin/bash
#SBATCH --nodes=2abc-4 --time=10
true
