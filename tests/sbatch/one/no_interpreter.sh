# Train it.
#SBATCH --time=60
./train
