# worker/metrics: what becomes of the rows of a run.
worker_libworker_a_SOURCES += \
	worker/metrics/extract_main.c worker/metrics/extract_main.h \
	worker/metrics/proof.c worker/metrics/proof.h \
	worker/metrics/rows.c worker/metrics/rows.h
EXTRA_DIST += worker/metrics/README.md
