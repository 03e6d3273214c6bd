# tests/fuzz: each target runs its corpus as a test; README.md says how to search for more.
FUZZ_LDADD = lib/libphased.a $(FYAML_LIBS) $(JANSSON_LIBS) $(PCRE2_LIBS) -lm
FUZZ_IN_FOLDER = tests/fuzz/fuzz_main.c tests/fuzz/fuzz.h tests/fuzz/fuzz_folder.c \
	tests/fuzz/fuzz_folder.h
FUZZ_TESTS =
EXTRA_DIST += tests/fuzz/corpus tests/fuzz/README.md

FUZZ_TESTS += tests/fuzz/fuzz_expr
tests_fuzz_fuzz_expr_SOURCES = tests/fuzz/fuzz_expr.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_expr_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_expr_LDADD = $(FUZZ_LDADD)

FUZZ_TESTS += tests/fuzz/fuzz_extract
tests_fuzz_fuzz_extract_SOURCES = tests/fuzz/fuzz_extract.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_extract_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_extract_LDADD = $(FUZZ_LDADD)
FUZZ_TESTS += tests/fuzz/fuzz_failures
tests_fuzz_fuzz_failures_SOURCES = tests/fuzz/fuzz_failures.c tests/fuzz/fuzz_main.c \
	tests/fuzz/fuzz.h
tests_fuzz_fuzz_failures_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_failures_LDADD = $(FUZZ_LDADD)
FUZZ_TESTS += tests/fuzz/fuzz_sbatch
tests_fuzz_fuzz_sbatch_SOURCES = tests/fuzz/fuzz_sbatch.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_sbatch_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_sbatch_LDADD = $(FUZZ_LDADD)
FUZZ_TESTS += tests/fuzz/fuzz_spec
tests_fuzz_fuzz_spec_SOURCES = tests/fuzz/fuzz_spec.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_spec_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_spec_LDADD = $(FUZZ_LDADD)
FUZZ_TESTS += tests/fuzz/fuzz_entries
tests_fuzz_fuzz_entries_SOURCES = tests/fuzz/fuzz_entries.c tests/fuzz/fuzz_main.c \
	tests/fuzz/fuzz.h tests/unit/record.c tests/unit/new_record.c
tests_fuzz_fuzz_entries_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_entries_LDADD = $(DAEMON_LDADD) daemon/slurm/libcluster.a $(DAEMON_LIBS) $(CMOCKA_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_nodes
tests_fuzz_fuzz_nodes_SOURCES = tests/fuzz/fuzz_nodes.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_nodes_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_nodes_LDADD = daemon/store/libstore.a $(FUZZ_LDADD)
FUZZ_TESTS += tests/fuzz/fuzz_channel
tests_fuzz_fuzz_channel_SOURCES = tests/fuzz/fuzz_channel.c tests/fuzz/fuzz_main.c \
	tests/fuzz/fuzz.h
tests_fuzz_fuzz_channel_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_channel_LDADD = $(WORKER_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_messages
tests_fuzz_fuzz_messages_SOURCES = tests/fuzz/fuzz_messages.c $(FUZZ_IN_FOLDER)
tests_fuzz_fuzz_messages_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_messages_LDADD = $(WORKER_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_assignment
tests_fuzz_fuzz_assignment_SOURCES = tests/fuzz/fuzz_assignment.c $(FUZZ_IN_FOLDER)
tests_fuzz_fuzz_assignment_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_assignment_LDADD = $(WORKER_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_submission
tests_fuzz_fuzz_submission_SOURCES = tests/fuzz/fuzz_submission.c tests/fuzz/fuzz_main.c \
	tests/fuzz/fuzz.h
tests_fuzz_fuzz_submission_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_submission_LDADD = $(DAEMON_LDADD) daemon/slurm/libcluster.a $(DAEMON_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_requests
tests_fuzz_fuzz_requests_SOURCES = tests/fuzz/fuzz_requests.c tests/fuzz/fuzz_main.c \
	tests/fuzz/fuzz.h tests/unit/fake_cluster.c tests/unit/fake_cluster.h \
	tests/unit/folder.c tests/unit/folder.h
tests_fuzz_fuzz_requests_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_requests_LDADD = $(DAEMON_LDADD) daemon/slurm/libcluster.a $(DAEMON_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_ras
tests_fuzz_fuzz_ras_SOURCES = tests/fuzz/fuzz_ras.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_ras_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_ras_LDADD = $(WORKER_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_ras_status
tests_fuzz_fuzz_ras_status_SOURCES = tests/fuzz/fuzz_ras_status.c tests/fuzz/fuzz_main.c \
	tests/fuzz/fuzz.h
tests_fuzz_fuzz_ras_status_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_ras_status_LDADD = $(WORKER_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_vocabulary
tests_fuzz_fuzz_vocabulary_SOURCES = tests/fuzz/fuzz_vocabulary.c tests/fuzz/fuzz_main.c \
	tests/fuzz/fuzz.h
tests_fuzz_fuzz_vocabulary_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_vocabulary_LDADD = $(MODEL_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_shard
tests_fuzz_fuzz_shard_SOURCES = tests/fuzz/fuzz_shard.c tests/fuzz/fuzz_main.c \
	tests/fuzz/fuzz.h
tests_fuzz_fuzz_shard_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_shard_LDADD = $(MODEL_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_journal
tests_fuzz_fuzz_journal_SOURCES = tests/fuzz/fuzz_journal.c $(FUZZ_IN_FOLDER)
tests_fuzz_fuzz_journal_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_journal_LDADD = $(WORKER_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_reading
tests_fuzz_fuzz_reading_SOURCES = tests/fuzz/fuzz_reading.c $(FUZZ_IN_FOLDER)
tests_fuzz_fuzz_reading_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_reading_LDADD = $(DAEMON_LDADD) daemon/slurm/libcluster.a $(DAEMON_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_posthumous
tests_fuzz_fuzz_posthumous_SOURCES = tests/fuzz/fuzz_posthumous.c $(FUZZ_IN_FOLDER)
tests_fuzz_fuzz_posthumous_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_posthumous_LDADD = $(WORKER_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_report
tests_fuzz_fuzz_report_SOURCES = tests/fuzz/fuzz_report.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_report_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_report_LDADD = $(WORKER_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_claim
tests_fuzz_fuzz_claim_SOURCES = tests/fuzz/fuzz_claim.c $(FUZZ_IN_FOLDER)
tests_fuzz_fuzz_claim_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_claim_LDADD = $(WORKER_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_saved
tests_fuzz_fuzz_saved_SOURCES = tests/fuzz/fuzz_saved.c $(FUZZ_IN_FOLDER)
tests_fuzz_fuzz_saved_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_saved_LDADD = $(FUZZ_LDADD)
FUZZ_TESTS += tests/fuzz/fuzz_checkpoint
tests_fuzz_fuzz_checkpoint_SOURCES = tests/fuzz/fuzz_checkpoint.c $(FUZZ_IN_FOLDER)
tests_fuzz_fuzz_checkpoint_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_checkpoint_LDADD = $(MODEL_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_prompts
tests_fuzz_fuzz_prompts_SOURCES = tests/fuzz/fuzz_prompts.c $(FUZZ_IN_FOLDER)
tests_fuzz_fuzz_prompts_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_prompts_LDADD = $(MODEL_LIBS)

check_PROGRAMS += $(FUZZ_TESTS)
TESTS += $(FUZZ_TESTS)
