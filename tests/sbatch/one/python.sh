#!/usr/bin/env python3
#SBATCH --time=20
#SBATCH --nodes=2
import os

if os.environ.get("SLURM_JOB_ID"):
    print('it\'s "here"', "$HOME", """END_OF_SCRIPT""")
