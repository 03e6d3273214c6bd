# tests/system: whole programs, most of them on a sandbox. The longest come first.
TESTS += tests/system/failover.bats # five minutes of it are waiting
TESTS += tests/system/recovery.bats tests/system/requeue.bats tests/system/slurm_faults.bats
TESTS += tests/system/sandbox.bats
TESTS += tests/system/cli.bats tests/system/demo.bats tests/system/quickstart.bats
EXTRA_DIST += tests/system/sandbox.bats tests/system/cli.bats \
	tests/system/demo.bats \
	tests/system/quickstart.bats

TESTS += tests/system/worker.bats tests/system/worker_host.bats tests/system/worker_slurm.bats tests/system/worker_preflight.bats
TESTS += tests/system/worker_limit.bats
EXTRA_DIST += tests/system/worker.bats tests/system/worker_host.bats tests/system/worker_slurm.bats \
	tests/system/worker_preflight.bats tests/system/worker_limit.bats tests/system/worker
TESTS += tests/system/telemetry.bats tests/system/telemetry_slurm.bats
EXTRA_DIST += tests/system/telemetry.bats tests/system/telemetry_slurm.bats

if HAVE_CMOCKA
check_PROGRAMS += tests/system/test_cluster
TESTS += tests/system/test_cluster
tests_system_test_cluster_SOURCES = tests/system/test_cluster.c
tests_system_test_cluster_LDADD = daemon/slurm/libcluster.a lib/libphased.a $(SLURM_LIBS) \
	$(CMOCKA_LIBS)
endif

TESTS += tests/system/crash.bats tests/system/faults.bats tests/system/silent.bats
EXTRA_DIST += tests/system/phased.bash tests/system/crash.bats tests/system/faults.bats \
	tests/system/recovery.bats tests/system/requeue.bats \
	tests/system/slurm_faults.bats tests/system/training.bash tests/system/training.py \
	tests/system/silent.bats tests/system/failover.bats
TESTS += tests/system/page.bats
EXTRA_DIST += tests/system/page.bats tests/system/page.py
TESTS += tests/system/stops.bats
EXTRA_DIST += tests/system/stops.bats

TESTS += tests/system/failures.bats tests/system/worker_failure.bats
EXTRA_DIST += tests/system/failures.bats tests/system/worker_failure.bats
TESTS += tests/system/layouts.bats
EXTRA_DIST += tests/system/layouts.bats
TESTS += tests/system/colocate.bats
EXTRA_DIST += tests/system/colocate.bats
TESTS += tests/system/nodes.bats tests/system/preflight.bats
EXTRA_DIST += tests/system/nodes.bats tests/system/preflight.bats
TESTS += tests/system/hang.bats tests/system/hang_slurm.bats
EXTRA_DIST += tests/system/hang.bats tests/system/hang_slurm.bats

TESTS += tests/system/workflows.bats
EXTRA_DIST += tests/system/workflows.bats

TESTS += tests/system/daemon.bats
EXTRA_DIST += tests/system/daemon.bats

TESTS += tests/system/python.bats
EXTRA_DIST += tests/system/python.bats

TESTS += tests/system/matrix.bats
EXTRA_DIST += tests/system/matrix.bats
TESTS += tests/system/remedies.bats
EXTRA_DIST += tests/system/remedies.bats
TESTS += tests/system/hardware.bats
EXTRA_DIST += tests/system/hardware.bats

TESTS += tests/system/doctor.bats
EXTRA_DIST += tests/system/doctor.bats
TESTS += tests/system/verbs.bats
EXTRA_DIST += tests/system/verbs.bats

TESTS += tests/system/import.bats
EXTRA_DIST += tests/system/import.bats

TESTS += tests/system/check_log.bats
EXTRA_DIST += tests/system/check_log.bats

TESTS += tests/system/budget.bats
EXTRA_DIST += tests/system/budget.bats

TESTS += tests/system/queue.bats
EXTRA_DIST += tests/system/queue.bats

TESTS += tests/system/notify.bats
EXTRA_DIST += tests/system/notify.bats

TESTS += tests/system/top.bats
EXTRA_DIST += tests/system/top.bats

TESTS += tests/system/worker_claim.bats
EXTRA_DIST += tests/system/worker_claim.bats
EXTRA_DIST += tests/system/README.md
