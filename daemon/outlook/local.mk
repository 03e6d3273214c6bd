# daemon/outlook: what would become of a workflow.
daemon_libdaemon_a_SOURCES += \
	daemon/outlook/outlook.h \
	daemon/outlook/fit.c daemon/outlook/fit.h \
	daemon/outlook/forecast.c \
	daemon/outlook/model_of.c \
	daemon/outlook/survey.c
EXTRA_DIST += daemon/outlook/README.md
