# daemon/ingest: what workers tell, and what leads are told.
daemon_libdaemon_a_SOURCES += \
	daemon/ingest/ingest.c daemon/ingest/ingest.h daemon/ingest/ingest_private.h \
	daemon/ingest/entry.c daemon/ingest/entry.h \
	daemon/ingest/journal.c \
	daemon/ingest/lead.c \
	daemon/ingest/notes.c \
	daemon/ingest/posthumous.c \
	daemon/ingest/reading.c
EXTRA_DIST += daemon/ingest/README.md
