#!/bin/bash
#SBATCH -t 9 -J no13 -d :3
echo
