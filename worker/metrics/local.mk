# worker/metrics: a library, so that tests and fuzzers need no worker.
noinst_LIBRARIES += worker/metrics/libmetrics.a
worker_metrics_libmetrics_a_SOURCES = \
	worker/metrics/number.c worker/metrics/number.h \
	worker/metrics/values.c worker/metrics/values.h \
	worker/metrics/literal.c worker/metrics/literal.h \
	worker/metrics/epoch.c worker/metrics/epoch.h \
	worker/metrics/line.c worker/metrics/line.h \
	worker/metrics/pattern.c worker/metrics/pattern.h \
	worker/metrics/extract.c worker/metrics/extract_row.c worker/metrics/extract.h \
	worker/metrics/extract_main.c worker/metrics/extract_main.h \
	worker/metrics/guards.c worker/metrics/guards.h \
	worker/metrics/proof.c worker/metrics/proof.h
