# tests: each program or script is one entry in TESTS and prints TAP.
# The longest first, so that the others run beside them.
include tests/bench/local.mk
include tests/system/local.mk
include tests/storm/local.mk

if HAVE_CMOCKA
UNIT_TESTS =
include tests/unit/local.mk
check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)
endif
include tests/fake/local.mk
include tests/sim/local.mk
include tests/sbatch/local.mk
include tests/specs/local.mk
include tests/tidy/local.mk
include tests/fuzz/local.mk
EXTRA_DIST += tests/distributions/run tests/distributions/headers tests/distributions/README.md
EXTRA_DIST += tests/README.md
