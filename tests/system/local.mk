# tests/system: whole programs, most of them on a sandbox. tests/local.mk names the longest.
TESTS += tests/system/journals.bats tests/system/space.bats
EXTRA_DIST += tests/system/space.bats \
	tests/system/controller.bats tests/system/checkpoints.bats tests/system/journals.bats
TESTS += tests/system/workstation.bats
TESTS += tests/system/quickstart.bats
EXTRA_DIST += tests/system/sbatch.bats tests/system/sandbox.bats tests/system/workstation.bats \
	tests/system/cli.bash tests/system/cli.bats tests/system/code.bats \
	tests/system/rehearsal.bats \
	tests/system/demo.bats \
	tests/system/quickstart.bats

TESTS += tests/system/worker_host.bats tests/system/worker_preflight.bats
TESTS += tests/system/worker_space.bats tests/system/worker_container.bats
TESTS += tests/system/worker_stops.bats
EXTRA_DIST += tests/system/worker.bats tests/system/worker_requeue.bats \
	tests/system/worker_host.bats tests/system/worker_slurm.bats \
	tests/system/worker_preflight.bats tests/system/worker_limit.bats \
	tests/system/worker_space.bats tests/system/worker_container.bats \
	tests/system/worker_stops.bats tests/system/worker
TESTS += tests/system/telemetry.bats tests/system/telemetry_slurm.bats
EXTRA_DIST += tests/system/telemetry.bats tests/system/telemetry_slurm.bats

if HAVE_CMOCKA
if HAVE_SLURM
check_PROGRAMS += tests/system/test_cluster
TESTS += tests/system/test_cluster
endif
tests_system_test_cluster_SOURCES = tests/system/test_cluster.c
tests_system_test_cluster_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS)
tests_system_test_cluster_LDADD = $(SLURM_CLUSTER_LIBS) $(CMOCKA_LIBS)
endif

TESTS += tests/system/faults.bats
EXTRA_DIST += tests/system/phased.bash tests/system/process.bash tests/system/crash.bats tests/system/faults.bats \
	tests/system/recovery.bats tests/system/requeue.bats \
	tests/system/requeue_daemon.bats tests/system/requeue.bash \
	tests/system/slurm_faults.bats tests/system/training.bash tests/system/training.py \
	tests/system/silent.bats tests/system/failover.bats
EXTRA_DIST += tests/system/build.bats tests/system/install.bats tests/system/tarball.bats tests/system/service.py
EXTRA_DIST += tests/system/daemon_job.bats tests/system/daemon_successor.bats \
	tests/system/daemon_job.bash
TESTS += tests/system/export.bats
EXTRA_DIST += tests/system/export.bats tests/system/export.py
EXTRA_DIST += tests/system/page.bats tests/system/page.py tests/system/page_browser.py \
	tests/system/page_away.py tests/system/page_charts.py tests/system/page_home.py \
	tests/system/page_runs.py tests/system/page_states.py
EXTRA_DIST += tests/system/ssh.bats
TESTS += tests/system/mcp.bats
EXTRA_DIST += tests/system/mcp.bats tests/system/mcp.py
EXTRA_DIST += tests/system/stops.bats
TESTS += tests/system/submit.bats
EXTRA_DIST += tests/system/submit.bats

TESTS += tests/system/failures.bats tests/system/worker_failure.bats
EXTRA_DIST += tests/system/failures.bats tests/system/worker_failure.bats
TESTS += tests/system/container.bats
EXTRA_DIST += tests/system/container.bats
EXTRA_DIST += tests/system/layouts.bats
EXTRA_DIST += tests/system/colocate.bats
TESTS += tests/system/preflight.bats
EXTRA_DIST += tests/system/nodes.bats tests/system/preflight.bats
EXTRA_DIST += tests/system/hang.bats tests/system/hang_slurm.bats

EXTRA_DIST += tests/system/workflows.bats

EXTRA_DIST += tests/system/daemon.bats

EXTRA_DIST += tests/system/python.bats tests/system/tracking/README.md \
	tests/system/tracking/mlflow.py tests/system/tracking/wandb.py

EXTRA_DIST += tests/system/guide.bats tests/system/pages.bats tests/system/pages/README.md \
	tests/system/pages/page.py tests/system/pages/train.py tests/system/pages/with_commands.py

EXTRA_DIST += tests/system/matrix.bats
EXTRA_DIST += tests/system/remedies.bats
TESTS += tests/system/hardware.bats
EXTRA_DIST += tests/system/hardware.bats

TESTS += tests/system/doctor.bats
EXTRA_DIST += tests/system/doctor.bats
TESTS += tests/system/events.bats tests/system/monitoring.bats tests/system/otlp.bats
EXTRA_DIST += tests/system/events.bats tests/system/monitoring.bats tests/system/otlp.bats \
	tests/system/collector.py
TESTS += tests/system/verbs.bats
EXTRA_DIST += tests/system/verbs.bats

EXTRA_DIST += tests/system/import.bats

EXTRA_DIST += tests/system/secrets.bats

TESTS += tests/system/check_log.bats
EXTRA_DIST += tests/system/check_log.bats

EXTRA_DIST += tests/system/budget.bats

EXTRA_DIST += tests/system/queue.bats

EXTRA_DIST += tests/system/notify.bats

TESTS += tests/system/top.bats
EXTRA_DIST += tests/system/top.bats

EXTRA_DIST += tests/system/worker_claim.bats
EXTRA_DIST += tests/system/README.md
