# daemon/notify: telling people.
daemon_libdaemon_a_SOURCES += daemon/notify/notify.c daemon/notify/notify.h
EXTRA_DIST += daemon/notify/README.md
