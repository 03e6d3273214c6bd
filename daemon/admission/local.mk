# daemon/admission: whether a job may be submitted now.
daemon_libdaemon_a_SOURCES += \
	daemon/admission/admission.h daemon/admission/admission_private.h \
	daemon/admission/budget.c \
	daemon/admission/limits.c \
	daemon/admission/month.c \
	daemon/admission/queue.c \
	daemon/admission/spending.c \
	daemon/admission/round.c daemon/admission/round.h
EXTRA_DIST += daemon/admission/README.md
