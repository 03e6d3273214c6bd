# daemon: phased itself.
include daemon/core/local.mk
include daemon/store/local.mk
include daemon/slurm/local.mk
include daemon/api/local.mk
include daemon/loop/local.mk

# The daemon without its main and the real Slurm, for tests too.
noinst_LIBRARIES += daemon/libdaemon.a
daemon_libdaemon_a_SOURCES = daemon/lock.c daemon/lock.h daemon/rooms.c daemon/rooms.h \
	daemon/service.c daemon/service.h
include daemon/admission/local.mk
include daemon/ingest/local.mk
include daemon/judge/local.mk
include daemon/launch/local.mk
include daemon/notify/local.mk
include daemon/outlook/local.mk
DAEMON_LDADD = daemon/api/libapi.a daemon/libdaemon.a daemon/loop/libloop.a \
	daemon/store/libstore.a daemon/core/libcore.a
DAEMON_LIBS = lib/libphased.a $(UV_LIBS) $(MHD_LIBS) $(SQLITE_LIBS) $(FYAML_LIBS) \
	$(JANSSON_LIBS) $(PCRE2_LIBS) $(SODIUM_LIBS) $(CURL_LIBS) -lm

bin_PROGRAMS += bin/phased
bin_phased_SOURCES = daemon/main.c
bin_phased_LDADD = $(DAEMON_LDADD) daemon/slurm/libcluster.a $(DAEMON_LIBS)
EXTRA_DIST += daemon/README.md
