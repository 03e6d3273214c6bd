# tests/sbatch: sbatch scripts and what becomes of them.
TESTS += tests/sbatch/import.sh
EXTRA_DIST += tests/sbatch
