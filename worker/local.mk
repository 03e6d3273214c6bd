# worker: what runs on the allocated nodes.
include worker/model/local.mk
include worker/preflight/local.mk

# What unit tests link too.
noinst_LIBRARIES += worker/libworker.a
worker_libworker_a_SOURCES = \
	worker/gpu_list.c worker/gpu_list.h \
	worker/lines.c worker/lines.h \
	worker/nvml.c worker/nvml.h
include worker/health/local.mk
include worker/lead/local.mk
include worker/metrics/local.mk
include worker/node/local.mk
include worker/process/local.mk
include worker/protocol/local.mk
include worker/telemetry/local.mk
WORKER_LIBS = worker/libworker.a lib/libphased.a $(UV_LIBS) \
	$(CURL_LIBS) $(JANSSON_LIBS) $(PCRE2_LIBS) $(SODIUM_LIBS) -lm -lpthread

bin_PROGRAMS += bin/phase-worker
bin_phase_worker_SOURCES = worker/main.c
bin_phase_worker_LDADD = $(WORKER_LIBS)
EXTRA_DIST += worker/README.md
