# tests: each program or script is one entry in TESTS and prints TAP.
# What waits long comes first, so that the others run beside it. What computes long comes before the
# tests of tests/system, since these wait for Slurm most of the time.
TESTS += tests/system/failover.bats tests/system/controller.bats # five minutes of each are waiting
include tests/bench/local.mk
include tests/storm/local.mk

if HAVE_CMOCKA
UNIT_TESTS =
include tests/unit/local.mk
check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)
endif
include tests/sim/local.mk
include tests/tidy/local.mk
include tests/system/local.mk
include tests/fake/local.mk
include tests/sbatch/local.mk
include tests/specs/local.mk
include tests/fuzz/local.mk
EXTRA_DIST += tests/distributions/run tests/distributions/headers tests/distributions/packages \
	tests/distributions/README.md
EXTRA_DIST += tests/upgrade/run tests/upgrade/previous tests/upgrade/upgrade.bats tests/upgrade/README.md
EXTRA_DIST += tests/README.md
