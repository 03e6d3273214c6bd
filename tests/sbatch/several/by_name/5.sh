#!/bin/bash
#SBATCH -t 9 -J last
echo last
