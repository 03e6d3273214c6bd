# daemon/store: the record; the only includer of sqlite3.h.
noinst_LIBRARIES += daemon/store/libstore.a
daemon_store_libstore_a_SOURCES = \
	daemon/store/store.c daemon/store/store.h daemon/store/store_private.h \
	daemon/store/transaction.c \
	daemon/store/migrate.c \
	daemon/store/stmt.c daemon/store/stmt.h \
	daemon/store/workflow.c \
	daemon/store/apply.c \
	daemon/store/cost.c daemon/store/cost.h \
	daemon/store/health.c \
	daemon/store/lease.c \
	daemon/store/load.c \
	daemon/store/remedy.c \
	daemon/store/run.c \
	daemon/store/matrix.c \
	daemon/store/metric.c \
	daemon/store/sample.c \
	daemon/store/row_json.c daemon/store/row_json.h daemon/store/rows.h \
	daemon/store/notice.c daemon/store/notice.h \
	daemon/store/nodes.c daemon/store/nodes.h \
	daemon/store/answers.c daemon/store/answers.h \
	daemon/store/answer_lists.c daemon/store/answer_metrics.c
nodist_daemon_store_libstore_a_SOURCES = schema/queries.c schema/queries.h
