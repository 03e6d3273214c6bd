# tests/storm: faults of all kinds at once, from a seed, on a real Slurm.
TESTS += tests/storm/storm.sh
EXTRA_DIST += tests/storm/storm.sh tests/storm/storm tests/storm/accounts.py tests/storm/checks.py \
	tests/storm/cluster.py tests/storm/faults.py tests/storm/people.py tests/storm/program.py \
	tests/storm/report.py tests/storm/workflows.py
EXTRA_DIST += tests/storm/README.md tests/storm/rules.md
