# worker/node: the agent of a node.
worker_libworker_a_SOURCES += \
	worker/node/agent.c worker/node/agent.h \
	worker/node/channel.c worker/node/channel.h \
	worker/node/checkpoints.c worker/node/checkpoints.h \
	worker/node/container.c worker/node/container.h \
	worker/node/container_script.c \
	worker/node/crew.c worker/node/crew.h \
	worker/node/groups.c worker/node/groups.h \
	worker/node/node_run.c worker/node/node_run.h \
	worker/node/node_run_start.c \
	worker/node/node_run_state.h \
	worker/node/nodecheck.c worker/node/nodecheck.h \
	worker/node/nodecheck_report.c worker/node/nodecheck_report.h \
	worker/node/observer.c worker/node/observer.h \
	worker/node/rank_environment.c worker/node/rank_environment.h \
	worker/node/ranklog.c worker/node/ranklog.h \
	worker/node/rendezvous.c worker/node/rendezvous.h \
	worker/node/space.c worker/node/space.h \
	worker/node/shards.c worker/node/shards.h \
	worker/node/split.c worker/node/split.h \
	worker/node/tail.c worker/node/tail.h \
	worker/node/task.c worker/node/task.h \
	worker/node/told.c worker/node/told.h \
	worker/node/watchdog.c worker/node/watchdog.h
EXTRA_DIST += worker/node/README.md
