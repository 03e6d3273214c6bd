#!/bin/bash
#SBATCH -t 10 --output=%A_%3a-%N-%n%t%s%J%99j-%b%2b.out --array=1-2
true
