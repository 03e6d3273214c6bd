# daemon/core: pure decisions.
noinst_LIBRARIES += daemon/core/libcore.a
daemon_core_libcore_a_SOURCES = \
	daemon/core/state.c daemon/core/state.h \
	daemon/core/model.c daemon/core/model.h \
	daemon/core/core.c daemon/core/core.h \
	daemon/core/step.c daemon/core/step.h \
	daemon/core/phase.c \
	daemon/core/matrix.c \
	daemon/core/remedy.c \
	daemon/core/rival.c daemon/core/run.c \
	daemon/core/job.c \
	daemon/core/beside.c \
	daemon/core/command.c
