# daemon/loop: the only place that decides when things happen.
noinst_LIBRARIES += daemon/loop/libloop.a
daemon_loop_libloop_a_SOURCES = \
	daemon/loop/ageing.c daemon/loop/ageing.h \
	daemon/loop/clock.c daemon/loop/clock.h \
	daemon/loop/crash.c daemon/loop/crash.h \
	daemon/loop/effects.c \
	daemon/loop/entry.c daemon/loop/entry.h \
	daemon/loop/inside.h \
	daemon/loop/journal.c daemon/loop/journal.h \
	daemon/loop/journal_file.c daemon/loop/journal_file.h \
	daemon/loop/log.c \
	daemon/loop/loop.c daemon/loop/loop.h \
	daemon/loop/notes.c daemon/loop/notes.h \
	daemon/loop/outbox.c daemon/loop/outbox.h \
	daemon/loop/owner.c \
	daemon/loop/posthumous.c daemon/loop/posthumous.h \
	daemon/loop/posts.c daemon/loop/posts.h \
	daemon/loop/command.c \
	daemon/loop/rooms.c \
	daemon/loop/unheard.c daemon/loop/unheard.h
