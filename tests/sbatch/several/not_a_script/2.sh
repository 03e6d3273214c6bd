#!/bin/bash
#SBATCH -t 10
true
