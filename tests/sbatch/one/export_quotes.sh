#!/bin/bash
#SBATCH --export="all,EXPR='a,b','LIST=c,d',TWICE='e','f',SEED=17,NOTE=it's,one,item"
#SBATCH --time=60
./train
