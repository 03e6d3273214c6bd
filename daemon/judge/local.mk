# daemon/judge: gates, matrices, remedies, reuse.
daemon_libdaemon_a_SOURCES += \
	daemon/judge/judge.c daemon/judge/judge.h daemon/judge/judge_private.h \
	daemon/judge/values.c \
	daemon/judge/matrix.c \
	daemon/judge/remedy.c \
	daemon/judge/revision.c \
	daemon/judge/reuse.c
EXTRA_DIST += daemon/judge/README.md
