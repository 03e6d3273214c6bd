# daemon/loop: the only place that decides when things happen.
noinst_LIBRARIES += daemon/loop/libloop.a
daemon_loop_libloop_a_SOURCES = \
	daemon/loop/binding.c \
	daemon/loop/clock.c daemon/loop/clock.h \
	daemon/loop/crash.c daemon/loop/crash.h \
	daemon/loop/effects.c \
	daemon/loop/index.c \
	daemon/loop/loop_private.h \
	daemon/loop/log.c \
	daemon/loop/loop.c daemon/loop/loop.h \
	daemon/loop/outbox.c daemon/loop/outbox.h \
	daemon/loop/posts.c daemon/loop/posts.h \
	daemon/loop/rooms.c \
	daemon/loop/turn.c
EXTRA_DIST += daemon/loop/README.md
