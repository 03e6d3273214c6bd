# worker/telemetry: what GPUs do.
worker_libworker_a_SOURCES += \
	worker/telemetry/gpu_metrics.c worker/telemetry/gpu_metrics.h \
	worker/telemetry/idle.c worker/telemetry/idle.h \
	worker/telemetry/news.c worker/telemetry/news.h \
	worker/telemetry/reader.c worker/telemetry/reader.h \
	worker/telemetry/sampler.c worker/telemetry/sampler.h \
	worker/telemetry/second.c worker/telemetry/second.h \
	worker/telemetry/watch.c worker/telemetry/watch.h
EXTRA_DIST += worker/telemetry/README.md
