# worker: what runs on the allocated nodes.
include worker/metrics/local.mk
include worker/model/local.mk
include worker/preflight/local.mk

# What unit tests link too.
noinst_LIBRARIES += worker/libworker.a
worker_libworker_a_SOURCES = \
	worker/agent.c worker/agent.h \
	worker/alone.c worker/alone.h \
	worker/assignment.c worker/assignment.h \
	worker/channel.c worker/channel.h \
	worker/checkpoints.c worker/checkpoints.h \
	worker/clock.c worker/clock.h \
	worker/commands.c worker/commands.h \
	worker/crew.c worker/crew.h \
	worker/environment.c worker/environment.h \
	worker/evidence.c worker/evidence.h \
	worker/growth.c worker/growth.h \
	worker/gpu_fault.c worker/gpu_fault.h \
	worker/groups.c worker/groups.h \
	worker/fitness.c worker/fitness.h \
	worker/failure.c worker/failure.h \
	worker/hang.c worker/hang.h \
	worker/hardware.c worker/hardware.h \
	worker/host.c worker/host.h \
	worker/inquiry.c worker/inquiry.h \
	worker/job_folder.c worker/job_folder.h \
	worker/journal.c worker/journal.h \
	worker/lead.c worker/lead.h worker/lead_state.h \
	worker/lead_agents.c worker/lead_checks.c worker/lead_hang.c \
	worker/lead_leave.c worker/lead_next.c \
	worker/lead_run.c worker/lead_run.h \
	worker/lineage.c worker/lineage.h \
	worker/lines.c worker/lines.h \
	worker/link.c worker/link.h \
	worker/nodecheck.c worker/nodecheck.h \
	worker/nodecheck_report.c worker/nodecheck_report.h \
	worker/memory_kills.c worker/memory_kills.h \
	worker/node_run.c worker/node_run.h worker/node_run_start.c worker/node_run_state.h \
	worker/nvml.c worker/nvml.h \
	worker/observer.c worker/observer.h \
	worker/outcome.c worker/outcome.h \
	worker/odd.c worker/odd.h \
	worker/pace.c worker/pace.h \
	worker/placement.c worker/placement.h \
	worker/posthumous.c worker/posthumous.h \
	worker/processes.c worker/processes.h \
	worker/quiet.c worker/quiet.h \
	worker/rank.c worker/rank.h \
	worker/ranklog.c worker/ranklog.h \
	worker/ras.c worker/ras.h \
	worker/recent.c worker/recent.h \
	worker/rendezvous.c worker/rendezvous.h \
	worker/report.c worker/report.h \
	worker/requeue.c worker/requeue.h \
	worker/rows.c worker/rows.h \
	worker/scontrol.c worker/scontrol.h \
	worker/shards.c worker/shards.h \
	worker/split.c worker/split.h \
	worker/step.c worker/step.h \
	worker/tail.c worker/tail.h \
	worker/telemetry/gpu_metrics.c worker/telemetry/gpu_metrics.h \
	worker/telemetry/idle.c worker/telemetry/idle.h \
	worker/telemetry/means.c worker/telemetry/means.h \
	worker/telemetry/peak.c worker/telemetry/peak.h \
	worker/telemetry/second.c worker/telemetry/second.h \
	worker/telemetry/reader.c worker/telemetry/reader.h \
	worker/telemetry/sampler.c worker/telemetry/sampler.h \
	worker/telemetry/speed.c worker/telemetry/speed.h \
	worker/telemetry/watch.c worker/telemetry/watch.h \
	worker/testimony.c worker/testimony.h \
	worker/transfer.c worker/transfer.h \
	worker/vigil.c worker/vigil.h \
	worker/witness.c worker/witness.h
WORKER_LIBS = worker/libworker.a worker/metrics/libmetrics.a lib/libphased.a $(UV_LIBS) \
	$(CURL_LIBS) $(JANSSON_LIBS) $(LUA_LIBS) $(PCRE2_LIBS) $(SODIUM_LIBS) -lm -lpthread

bin_PROGRAMS += bin/phase-worker
bin_phase_worker_SOURCES = worker/main.c
bin_phase_worker_LDADD = $(WORKER_LIBS)
EXTRA_DIST += worker/telemetry/README.md
