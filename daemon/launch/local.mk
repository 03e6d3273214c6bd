# daemon/launch: what a run finds, and what Slurm is asked for.
daemon_libdaemon_a_SOURCES += \
	daemon/launch/launch.c daemon/launch/launch.h daemon/launch/launch_private.h \
	daemon/launch/answers.c \
	daemon/launch/folder.c \
	daemon/launch/job_order.c \
	daemon/launch/prepare.c \
	daemon/launch/resume.c \
	daemon/launch/search.c \
	daemon/launch/secrets.c
EXTRA_DIST += daemon/launch/README.md
