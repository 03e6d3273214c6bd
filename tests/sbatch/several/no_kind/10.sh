#!/bin/bash
#SBATCH -t 9 -J no10 -d aftercorr:prep
echo
