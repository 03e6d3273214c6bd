#!/bin/bash
#SBATCH -t 9 -J prep
echo prep
