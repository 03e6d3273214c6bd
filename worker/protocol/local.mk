# worker/protocol: the files of a run, and the way to the daemon.
worker_libworker_a_SOURCES += \
	worker/protocol/assignment.c worker/protocol/assignment.h \
	worker/protocol/journal.c worker/protocol/journal.h \
	worker/protocol/lineage.c worker/protocol/lineage.h \
	worker/protocol/link.c worker/protocol/link.h \
	worker/protocol/orphan.c worker/protocol/orphan.h \
	worker/protocol/phase_claim.c worker/protocol/phase_claim.h \
	worker/protocol/posthumous.c worker/protocol/posthumous.h \
	worker/protocol/transfer.c worker/protocol/transfer.h
EXTRA_DIST += worker/protocol/README.md
