# worker/health: hangs and failures.
worker_libworker_a_SOURCES += \
	worker/health/evidence.c worker/health/evidence.h \
	worker/health/failure.c worker/health/failure.h \
	worker/health/hang.c worker/health/hang.h \
	worker/health/memory_kills.c worker/health/memory_kills.h \
	worker/health/outlier.c worker/health/outlier.h \
	worker/health/pace.c worker/health/pace.h \
	worker/health/ras.c worker/health/ras.h \
	worker/health/ras_status.c worker/health/ras_status.h \
	worker/health/inspect.c worker/health/inspect.h
EXTRA_DIST += worker/health/README.md
