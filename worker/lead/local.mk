# worker/lead: the batch script of a job.
worker_libworker_a_SOURCES += \
	worker/lead/alone.c worker/lead/alone.h \
	worker/lead/commands.c worker/lead/commands.h \
	worker/lead/fitness.c worker/lead/fitness.h \
	worker/lead/grace.c worker/lead/grace.h \
	worker/lead/hardware.c worker/lead/hardware.h \
	worker/lead/host.c worker/lead/host.h \
	worker/lead/inquiry.c worker/lead/inquiry.h \
	worker/lead/job_folder.c worker/lead/job_folder.h \
	worker/lead/lead.c worker/lead/lead.h \
	worker/lead/lead_agents.c \
	worker/lead/lead_checks.c \
	worker/lead/lead_claim.c \
	worker/lead/lead_hang.c \
	worker/lead/lead_leave.c \
	worker/lead/lead_next.c \
	worker/lead/lead_run.c worker/lead/lead_run.h \
	worker/lead/lead_state.h \
	worker/lead/lead_stop.c \
	worker/lead/lead_timer.c \
	worker/lead/requeue.c worker/lead/requeue.h \
	worker/lead/scontrol.c worker/lead/scontrol.h \
	worker/lead/job_step.c worker/lead/job_step.h
EXTRA_DIST += worker/lead/README.md
