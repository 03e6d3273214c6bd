#!/bin/bash
#SBATCH --gres=gpu:8# all
#SBATCH -t10#c -c 4
#SBATCH --comment=a#b --nodes=9
#SBATCH --job-name=a\#b --account='x'#y"z"
#SBATCH --qos=a"#q"
true
