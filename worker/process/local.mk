# worker/process: the processes of a run.
worker_libworker_a_SOURCES += \
	worker/process/child.c worker/process/child.h \
	worker/process/environment.c worker/process/environment.h \
	worker/process/processes.c worker/process/processes.h \
	worker/process/job_steps.c worker/process/job_steps.h
EXTRA_DIST += worker/process/README.md
