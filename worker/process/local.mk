# worker/process: the processes of a run.
worker_libworker_a_SOURCES += \
	worker/process/child.c worker/process/child.h \
	worker/process/environment.c worker/process/environment.h \
	worker/process/placement.c worker/process/placement.h \
	worker/process/processes.c worker/process/processes.h \
	worker/process/steps.c worker/process/steps.h
EXTRA_DIST += worker/process/README.md
