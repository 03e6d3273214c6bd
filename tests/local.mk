# tests: each program or script is one entry in TESTS and prints TAP.
# What takes minutes comes first, the longest at the top, so that all else runs beside it.
TESTS += tests/tidy/tidy.sh tests/sim/mutations.sh # these compute
include tests/storm/local.mk
TESTS += tests/system/worker.bats tests/system/worker_slurm.bats tests/system/daemon_job.bats
TESTS += tests/system/requeue.bats tests/system/guide.bats tests/system/slurm_faults.bats
TESTS += tests/system/workflows.bats tests/system/recovery.bats
TESTS += tests/system/crash.bats tests/system/worker_claim.bats tests/system/budget.bats
TESTS += tests/system/page.bats tests/system/queue.bats tests/system/notify.bats
TESTS += tests/system/stops.bats tests/system/hang.bats tests/system/matrix.bats
TESTS += tests/system/layouts.bats tests/system/import.bats tests/system/failover.bats
TESTS += tests/system/python.bats tests/system/controller.bats tests/system/secrets.bats
TESTS += tests/system/install.bats tests/system/hang_slurm.bats tests/system/colocate.bats
include tests/bench/local.mk

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
