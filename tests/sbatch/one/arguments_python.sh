#!/usr/bin/env python3
#SBATCH --time=60
import sys
print(sys.argv)
