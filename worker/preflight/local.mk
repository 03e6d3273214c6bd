# worker/preflight: phase-preflight. What reads and judges is a library, for tests.
noinst_LIBRARIES += worker/preflight/libpreflight.a
worker_preflight_libpreflight_a_SOURCES = \
	worker/preflight/facts.h \
	worker/preflight/baseline.c worker/preflight/baseline.h \
	worker/preflight/driver.c worker/preflight/driver.h \
	worker/preflight/figures.c worker/preflight/figures.h \
	worker/preflight/gres.c worker/preflight/gres.h \
	worker/preflight/groups.c worker/preflight/groups.h \
	worker/preflight/gpus.c worker/preflight/gpus.h \
	worker/preflight/host.c worker/preflight/host.h \
	worker/preflight/measures.c worker/preflight/measures.h \
	worker/preflight/options.c worker/preflight/options.h \
	worker/preflight/probe.c worker/preflight/probe.h \
	worker/preflight/reference.c worker/preflight/reference.h \
	worker/preflight/report.c worker/preflight/report.h \
	worker/preflight/rows.c worker/preflight/rows.h \
	worker/preflight/speed.c worker/preflight/speed.h \
	worker/preflight/thresholds.c worker/preflight/thresholds.h
PREFLIGHT_LIBS = worker/preflight/libpreflight.a worker/libworker.a lib/libphased.a \
	$(FYAML_LIBS) $(JANSSON_LIBS) $(PCRE2_LIBS) -lm

bin_PROGRAMS += bin/phase-preflight
bin_phase_preflight_SOURCES = worker/preflight/main.c
bin_phase_preflight_LDADD = $(PREFLIGHT_LIBS)
EXTRA_DIST += worker/preflight/README.md
include worker/preflight/gpu/local.mk
