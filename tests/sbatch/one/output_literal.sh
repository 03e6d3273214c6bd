#!/bin/bash
#SBATCH -t 10 --output='a\%j.out' --array=1-2 -e 'a\%j.out'
true
