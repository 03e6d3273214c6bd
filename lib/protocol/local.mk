# lib/protocol: what daemon, workers and command line tell each other.
lib_libphased_a_SOURCES += \
	lib/protocol/claim.c lib/protocol/claim.h \
	lib/protocol/daemon_file.c lib/protocol/daemon_file.h \
	lib/protocol/entry.c lib/protocol/entry.h \
	lib/protocol/hardware.c lib/protocol/hardware.h \
	lib/protocol/job_files.c lib/protocol/job_files.h \
	lib/protocol/job_state.h \
	lib/protocol/journal_file.c lib/protocol/journal_file.h \
	lib/protocol/journal_order.c lib/protocol/journal_order.h \
	lib/protocol/journal_push.c lib/protocol/journal_push.h \
	lib/protocol/lead_command.c lib/protocol/lead_command.h \
	lib/protocol/log_files.c lib/protocol/log_files.h \
	lib/protocol/members.c lib/protocol/members.h \
	lib/protocol/message.c lib/protocol/message.h \
	lib/protocol/outcome.c lib/protocol/outcome.h \
	lib/protocol/report.c lib/protocol/report.h \
	lib/protocol/run_file.c lib/protocol/run_file.h \
	lib/protocol/sampler_line.c lib/protocol/sampler_line.h \
	lib/protocol/told_checkpoint.c lib/protocol/told_checkpoint.h \
	lib/protocol/told_evidence.c lib/protocol/told_evidence.h \
	lib/protocol/words.c lib/protocol/words.h
EXTRA_DIST += lib/protocol/README.md
