# daemon/core: pure decisions.
noinst_LIBRARIES += daemon/core/libcore.a
daemon_core_libcore_a_SOURCES = \
	daemon/core/state.c daemon/core/state.h \
	daemon/core/model.c daemon/core/model.h \
	daemon/core/core.c daemon/core/core.h \
	daemon/core/decision.c daemon/core/decision.h \
	daemon/core/command.c \
	daemon/core/graph.c \
	daemon/core/matrix.c \
	daemon/core/phase.c \
	daemon/core/remedy.c \
	daemon/core/checkpoint.c \
	daemon/core/fit.c \
	daemon/core/run.c \
	daemon/core/allocation.c \
	daemon/core/need.c \
	daemon/core/seat.c
EXTRA_DIST += daemon/core/README.md
