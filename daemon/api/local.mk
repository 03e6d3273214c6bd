# daemon/api: HTTP for people and for workers.
noinst_LIBRARIES += daemon/api/libapi.a
daemon_api_libapi_a_SOURCES = \
	daemon/api/api.c daemon/api/api.h \
	daemon/api/call.c \
	daemon/api/can.c daemon/api/can.h \
	daemon/api/control.c \
	daemon/api/cost.c \
	daemon/api/exposition.c daemon/api/exposition.h \
	daemon/api/api_private.h \
	daemon/api/logs.c \
	daemon/api/nodes.c \
	daemon/api/owner.c \
	daemon/api/page.c daemon/api/page.h \
	daemon/api/peers.c daemon/api/peers.h \
	daemon/api/plan.c \
	daemon/api/read.c \
	daemon/api/reply.c \
	daemon/api/request.c daemon/api/request.h \
	daemon/api/routes.c \
	daemon/api/secrets.c \
	daemon/api/server.c daemon/api/server.h \
	daemon/api/submission.c \
	daemon/api/submit.c \
	daemon/api/waiters.c daemon/api/waiters.h \
	daemon/api/waits.c daemon/api/waits.h \
	daemon/api/worker.c
EXTRA_DIST += daemon/api/README.md
