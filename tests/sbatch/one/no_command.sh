#!/bin/bash
#SBATCH --time=60