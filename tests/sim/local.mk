# tests/sim: the core in a simulated world, many seeds.
check_PROGRAMS += tests/sim/sim
tests_sim_sim_SOURCES = tests/sim/sim.c tests/sim/sim.h tests/sim/slurm.c tests/sim/lead.c \
	tests/sim/record.c tests/sim/check.c tests/sim/daemon.c tests/sim/told.c tests/sim/matrix.c \
	tests/sim/pause.c tests/sim/saved.c
tests_sim_sim_LDADD = daemon/core/libcore.a lib/libphased.a

TESTS += tests/sim/sim.sh
EXTRA_DIST += tests/sim/sim.sh tests/sim/mutations.sh tests/sim/README.md
