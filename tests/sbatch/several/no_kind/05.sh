#!/bin/bash
#SBATCH -t 9 -J no5 -d after:prep
echo
