#!/bin/bash
#SBATCH -t 9 -J prep2
echo prep
