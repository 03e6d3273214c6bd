# tests: each program or script is one entry in TESTS and prints TAP.
# What takes minutes comes first, the longest at the top, so that all else runs beside it. What mostly
# computes stands between what mostly waits.
TESTS += tests/unit/test_model_gpu.bats tests/unit/test_model_gpu_generate.bats \
	tests/unit/test_model_gpu_kernels.bats tests/tidy/tidy.sh tests/sim/mutations.sh
include tests/storm/local.mk
TESTS += tests/system/build.bats tests/system/slurm_faults.bats tests/system/worker_slurm.bats tests/system/page.bats
TESTS += tests/system/daemon_successor.bats tests/system/recovery.bats
LONG_UNIT_TESTS = tests/unit/test_daemon_faults tests/unit/test_daemon_journal \
	tests/unit/test_daemon_lead tests/unit/test_daemon_queue
if HAVE_CMOCKA
check_PROGRAMS += $(LONG_UNIT_TESTS)
TESTS += $(LONG_UNIT_TESTS)
endif
TESTS += tests/system/workflows.bats tests/system/requeue_daemon.bats
TESTS += tests/system/colocate.bats tests/system/guide.bats tests/system/hang.bats
TESTS += tests/unit/test_model_generate.bats tests/unit/test_model_train.bats
TESTS += tests/system/layouts.bats tests/system/stops.bats tests/system/daemon_job.bats
TESTS += tests/system/requeue.bats tests/system/budget.bats tests/system/crash.bats
TESTS += tests/system/hang_slurm.bats tests/system/failover.bats tests/system/checkpoints.bats
include tests/sim/local.mk
TESTS += tests/system/controller.bats tests/system/import.bats tests/system/worker.bats
TESTS += tests/system/worker_requeue.bats tests/system/worker_claim.bats tests/system/silent.bats
TESTS += tests/system/pages.bats tests/system/demo.bats
TESTS += tests/system/secrets.bats tests/system/queue.bats tests/system/worker_limit.bats
TESTS += tests/system/install.bats tests/system/sandbox.bats tests/system/sbatch.bats
TESTS += tests/system/nodes.bats tests/system/matrix.bats tests/system/notify.bats
TESTS += tests/system/ssh.bats tests/system/cli.bats tests/system/daemon.bats \
	tests/system/rehearsal.bats tests/system/code.bats
TESTS += tests/system/remedies.bats tests/system/tarball.bats tests/system/python.bats
include tests/bench/local.mk

UNIT_TESTS =
include tests/unit/local.mk
if HAVE_CMOCKA
check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)
endif
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
