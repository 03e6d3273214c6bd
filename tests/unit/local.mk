# tests/unit: one program a module. Add a program to UNIT_TESTS and say what it is made of.
UNIT_LDADD = lib/libphased.a $(CMOCKA_LIBS) $(FYAML_LIBS) $(JANSSON_LIBS) \
	$(PCRE2_LIBS) $(SODIUM_LIBS) $(CURL_LIBS) -lm

UNIT_TESTS += tests/unit/test_error
tests_unit_test_error_SOURCES = tests/unit/test_error.c
tests_unit_test_error_LDADD = $(UNIT_LDADD)

# With -O2, the unit tests take longer to compile than to run.
tests/unit/%.o: CFLAGS += -Og

FOLDER = tests/unit/folder.c tests/unit/folder.h

include tests/unit/preflight.mk
include tests/unit/model_gpu.mk

UNIT_TESTS += tests/unit/test_option
tests_unit_test_option_SOURCES = tests/unit/test_option.c
tests_unit_test_option_LDADD = $(UNIT_LDADD)

UNIT_TESTS += tests/unit/test_sbatch_options
tests_unit_test_sbatch_options_SOURCES = tests/unit/test_sbatch_options.c
tests_unit_test_sbatch_options_LDADD = $(UNIT_LDADD)

UNIT_TESTS += tests/unit/test_text
tests_unit_test_text_SOURCES = tests/unit/test_text.c
tests_unit_test_text_LDADD = $(UNIT_LDADD)

MODEL_TESTS = tests/unit/test_model tests/unit/test_model_kernels \
	tests/unit/test_model_checkpoint tests/unit/test_model_ranks tests/unit/test_model_decode \
	tests/unit/test_model_tokenizer tests/unit/test_model_shard tests/unit/test_model_data \
	tests/unit/test_model_prompts tests/unit/test_model_saver \
	tests/unit/test_model_draw
MODEL_LDADD = worker/model/libmodel.a $(UNIT_LDADD) -lpthread
UNIT_TESTS += $(MODEL_TESTS)
tests_unit_test_model_SOURCES = tests/unit/test_model.c
tests_unit_test_model_LDADD = $(MODEL_LDADD)
tests_unit_test_model_kernels_SOURCES = tests/unit/test_model_kernels.c
tests_unit_test_model_kernels_LDADD = $(MODEL_LDADD)
SAVED_MODEL = tests/unit/saved_model.c tests/unit/saved_model.h $(FOLDER)
tests_unit_test_model_checkpoint_SOURCES = tests/unit/test_model_checkpoint.c $(SAVED_MODEL)
tests_unit_test_model_checkpoint_LDADD = $(MODEL_LDADD)
tests_unit_test_model_saver_SOURCES = tests/unit/test_model_saver.c $(SAVED_MODEL)
tests_unit_test_model_saver_LDADD = $(MODEL_LDADD)
tests_unit_test_model_ranks_SOURCES = tests/unit/test_model_ranks.c
tests_unit_test_model_ranks_LDADD = $(MODEL_LDADD)
tests_unit_test_model_decode_SOURCES = tests/unit/test_model_decode.c
tests_unit_test_model_decode_LDADD = $(MODEL_LDADD)
tests_unit_test_model_draw_SOURCES = tests/unit/test_model_draw.c
tests_unit_test_model_draw_LDADD = $(MODEL_LDADD)
tests_unit_test_model_tokenizer_SOURCES = tests/unit/test_model_tokenizer.c $(FOLDER)
tests_unit_test_model_tokenizer_LDADD = $(MODEL_LDADD)
tests_unit_test_model_shard_SOURCES = tests/unit/test_model_shard.c $(FOLDER)
tests_unit_test_model_shard_LDADD = $(MODEL_LDADD)
tests_unit_test_model_prompts_SOURCES = tests/unit/test_model_prompts.c $(FOLDER)
tests_unit_test_model_prompts_LDADD = $(MODEL_LDADD)
tests_unit_test_model_data_SOURCES = tests/unit/test_model_data.c $(FOLDER)
tests_unit_test_model_data_LDADD = $(MODEL_LDADD)
TESTS += tests/unit/test_model_tokenize.bats
EXTRA_DIST += tests/unit/test_model_train.bats tests/unit/test_model_generate.bats \
	tests/unit/test_model_tokenize.bats tests/unit/hurry.bash

UNIT_TESTS += tests/unit/test_mac
tests_unit_test_mac_SOURCES = tests/unit/test_mac.c
tests_unit_test_mac_LDADD = $(UNIT_LDADD)

UNIT_TESTS += tests/unit/test_address
tests_unit_test_address_SOURCES = tests/unit/test_address.c
tests_unit_test_address_LDADD = $(UNIT_LDADD)

UNIT_TESTS += tests/unit/test_failures tests/unit/test_catalogue
tests_unit_test_catalogue_SOURCES = tests/unit/test_catalogue.c
tests_unit_test_catalogue_LDADD = $(UNIT_LDADD)
tests_unit_test_failures_SOURCES = tests/unit/test_failures.c
tests_unit_test_failures_LDADD = $(UNIT_LDADD)

UNIT_TESTS += tests/unit/test_file
tests_unit_test_file_SOURCES = tests/unit/test_file.c $(FOLDER)
tests_unit_test_file_LDADD = $(UNIT_LDADD)

UNIT_TESTS += tests/unit/test_home
tests_unit_test_home_SOURCES = tests/unit/test_home.c tests/unit/folder.c tests/unit/folder.h
tests_unit_test_home_LDADD = $(UNIT_LDADD)
UNIT_TESTS += tests/unit/test_metrics
tests_unit_test_metrics_SOURCES = tests/unit/test_metrics.c
tests_unit_test_metrics_LDADD = $(UNIT_LDADD)
UNIT_TESTS += tests/unit/test_http
tests_unit_test_http_SOURCES = tests/unit/test_http.c tests/unit/http_server.c \
	tests/unit/http_server.h
tests_unit_test_http_LDADD = $(UNIT_LDADD)

UNIT_TESTS += tests/unit/test_units
tests_unit_test_units_SOURCES = tests/unit/test_units.c
tests_unit_test_units_LDADD = $(UNIT_LDADD)

CORE_WORLD = tests/unit/core_world.c tests/unit/core_world.h
MATRIX_WORLD = tests/unit/matrix_world.c tests/unit/matrix_world.h $(CORE_WORLD)
CORE_LDADD = daemon/core/libcore.a $(UNIT_LDADD)

UNIT_TESTS += tests/unit/test_core
tests_unit_test_core_SOURCES = tests/unit/test_core.c $(CORE_WORLD)
tests_unit_test_core_LDADD = $(CORE_LDADD)

UNIT_TESTS += tests/unit/test_core_command
tests_unit_test_core_command_SOURCES = tests/unit/test_core_command.c $(CORE_WORLD)
tests_unit_test_core_command_LDADD = $(CORE_LDADD)

UNIT_TESTS += tests/unit/test_core_tables
tests_unit_test_core_tables_SOURCES = tests/unit/test_core_tables.c $(CORE_WORLD)
tests_unit_test_core_tables_LDADD = $(CORE_LDADD)

UNIT_TESTS += tests/unit/test_core_walk
tests_unit_test_core_walk_SOURCES = tests/unit/test_core_walk.c $(CORE_WORLD)
tests_unit_test_core_walk_LDADD = $(CORE_LDADD)

UNIT_TESTS += tests/unit/test_remote
tests_unit_test_remote_SOURCES = tests/unit/test_remote.c
tests_unit_test_remote_LDADD = cli/libcli.a $(UNIT_LDADD)
TESTS += tests/unit/test_completion.bats
EXTRA_DIST += tests/unit/test_completion.bats
UNIT_TESTS += tests/unit/test_cli
tests_unit_test_cli_SOURCES = tests/unit/test_cli.c
tests_unit_test_cli_LDADD = cli/libcli.a $(UNIT_LDADD)
UNIT_TESTS += tests/unit/test_spans
tests_unit_test_spans_SOURCES = tests/unit/test_spans.c
tests_unit_test_spans_LDADD = cli/libcli.a $(UNIT_LDADD)
UNIT_TESTS += tests/unit/test_held
tests_unit_test_held_SOURCES = tests/unit/test_held.c
tests_unit_test_held_LDADD = cli/libcli.a $(UNIT_LDADD)
UNIT_TESTS += tests/unit/test_logs tests/unit/test_logs_follow tests/unit/test_reader
tests_unit_test_logs_SOURCES = tests/unit/test_logs.c tests/unit/folder.c tests/unit/folder.h
tests_unit_test_logs_LDADD = cli/libcli.a $(UNIT_LDADD)
tests_unit_test_logs_follow_SOURCES = tests/unit/test_logs_follow.c cli/logs/logs.c $(FOLDER)
tests_unit_test_logs_follow_LDADD = cli/libcli.a $(UNIT_LDADD)
READER = cli/reader/reader.c cli/reader/record.c tests/unit/http_server.c tests/unit/http_server.h \
	$(FOLDER)
tests_unit_test_reader_SOURCES = tests/unit/test_reader.c $(READER)
tests_unit_test_reader_CPPFLAGS = $(AM_CPPFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_reader_LDADD = cli/libcli.a $(UNIT_LDADD) $(SQLITE_LIBS)
UNIT_TESTS += tests/unit/test_tfevents
tests_unit_test_tfevents_SOURCES = tests/unit/test_tfevents.c tests/unit/folder.c tests/unit/folder.h
tests_unit_test_tfevents_LDADD = cli/libcli.a $(UNIT_LDADD)
UNIT_TESTS += tests/unit/test_plot
tests_unit_test_plot_SOURCES = tests/unit/test_plot.c
tests_unit_test_plot_LDADD = cli/libcli.a $(UNIT_LDADD)
TOP_WORLD = tests/unit/top_world.c tests/unit/top_world.h
TOP_LDADD = cli/top/libtop.a cli/libcli.a $(UNIT_LDADD)
UNIT_TESTS += tests/unit/test_top
tests_unit_test_top_SOURCES = tests/unit/test_top.c cli/top/absent.c $(TOP_WORLD)
tests_unit_test_top_LDADD = $(TOP_LDADD)
UNIT_TESTS += tests/unit/test_top_keys
tests_unit_test_top_keys_SOURCES = tests/unit/test_top_keys.c $(TOP_WORLD)
tests_unit_test_top_keys_LDADD = $(TOP_LDADD)
UNIT_TESTS += tests/unit/test_top_wants
tests_unit_test_top_wants_SOURCES = tests/unit/test_top_wants.c $(TOP_WORLD)
tests_unit_test_top_wants_LDADD = $(TOP_LDADD)

UNIT_TESTS += tests/unit/test_table
tests_unit_test_table_SOURCES = tests/unit/test_table.c
tests_unit_test_table_LDADD = cli/libcli.a $(UNIT_LDADD)
UNIT_TESTS += tests/unit/test_difference
tests_unit_test_difference_SOURCES = tests/unit/test_difference.c cli/compare/diff.c $(READER)
tests_unit_test_difference_CPPFLAGS = $(AM_CPPFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_difference_LDADD = cli/libcli.a $(UNIT_LDADD) $(SQLITE_LIBS)
UNIT_TESTS += tests/unit/test_doctor
tests_unit_test_doctor_SOURCES = tests/unit/test_doctor.c
tests_unit_test_doctor_LDADD = cli/libcli.a $(UNIT_LDADD)
UNIT_TESTS += tests/unit/test_gpu_view
tests_unit_test_gpu_view_SOURCES = tests/unit/test_gpu_view.c
tests_unit_test_gpu_view_LDADD = cli/libcli.a $(UNIT_LDADD)

UNIT_TESTS += tests/unit/test_expr
tests_unit_test_expr_SOURCES = tests/unit/test_expr.c tests/unit/expr_case.c tests/unit/expr_case.h
tests_unit_test_expr_LDADD = $(UNIT_LDADD)

UNIT_TESTS += tests/unit/test_expr_refusals
tests_unit_test_expr_refusals_SOURCES = \
	tests/unit/test_expr_refusals.c tests/unit/expr_case.c tests/unit/expr_case.h
tests_unit_test_expr_refusals_LDADD = $(UNIT_LDADD)

UNIT_TESTS += tests/unit/test_check
tests_unit_test_check_SOURCES = tests/unit/test_check.c
tests_unit_test_check_LDADD = $(UNIT_LDADD)

UNIT_TESTS += tests/unit/test_slurm_options
tests_unit_test_slurm_options_SOURCES = tests/unit/test_slurm_options.c
tests_unit_test_slurm_options_LDADD = $(UNIT_LDADD)

NEW_RECORD = tests/unit/new_record.c tests/unit/new_record.h
STORE_TEST_SOURCES = tests/unit/record.c tests/unit/record.h $(NEW_RECORD)
STORE_LDADD = daemon/store/libstore.a daemon/core/libcore.a $(UNIT_LDADD) $(SQLITE_LIBS)

UNIT_TESTS += tests/unit/test_store
tests_unit_test_store_SOURCES = tests/unit/test_store.c $(STORE_TEST_SOURCES)
tests_unit_test_store_CPPFLAGS = $(AM_CPPFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_store_LDADD = $(STORE_LDADD)

UNIT_TESTS += tests/unit/test_queries
tests_unit_test_queries_SOURCES = tests/unit/test_queries.c $(STORE_TEST_SOURCES)
tests_unit_test_queries_CPPFLAGS = $(AM_CPPFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_queries_LDADD = $(STORE_LDADD)

UNIT_TESTS += tests/unit/test_rehearsal
tests_unit_test_rehearsal_SOURCES = tests/unit/test_rehearsal.c
tests_unit_test_rehearsal_LDADD = $(UNIT_LDADD)

UNIT_TESTS += tests/unit/test_secrets
tests_unit_test_secrets_SOURCES = tests/unit/test_secrets.c
tests_unit_test_secrets_LDADD = $(UNIT_LDADD)

UNIT_TESTS += tests/unit/test_variants
tests_unit_test_variants_SOURCES = tests/unit/test_variants.c
tests_unit_test_variants_LDADD = $(UNIT_LDADD)

UNIT_TESTS += tests/unit/test_spec
tests_unit_test_spec_SOURCES = tests/unit/test_spec.c
tests_unit_test_spec_LDADD = $(DAEMON_LDADD) daemon/slurm/libcluster.a $(DAEMON_LIBS) $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/test_store_faults
tests_unit_test_store_faults_SOURCES = tests/unit/test_store_faults.c $(STORE_TEST_SOURCES)
tests_unit_test_store_faults_CPPFLAGS = $(AM_CPPFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_store_faults_LDADD = $(STORE_LDADD)

UNIT_TESTS += tests/unit/test_record
tests_unit_test_record_SOURCES = tests/unit/test_record.c $(STORE_TEST_SOURCES)
tests_unit_test_record_CPPFLAGS = $(AM_CPPFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_record_LDADD = $(STORE_LDADD)

UNIT_TESTS += tests/unit/test_record_seat
tests_unit_test_record_seat_SOURCES = tests/unit/test_record_seat.c $(STORE_TEST_SOURCES)
tests_unit_test_record_seat_CPPFLAGS = $(AM_CPPFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_record_seat_LDADD = $(STORE_LDADD)
EXTRA_DIST += tests/unit/record_011.sql

UNIT_TESTS += tests/unit/test_record_launch
tests_unit_test_record_launch_SOURCES = tests/unit/test_record_launch.c $(STORE_TEST_SOURCES)
tests_unit_test_record_launch_CPPFLAGS = $(AM_CPPFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_record_launch_LDADD = $(STORE_LDADD)

UNIT_TESTS += tests/unit/test_record_costs
tests_unit_test_record_costs_SOURCES = tests/unit/test_record_costs.c $(STORE_TEST_SOURCES)
tests_unit_test_record_costs_CPPFLAGS = $(AM_CPPFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_record_costs_LDADD = $(STORE_LDADD)
UNIT_TESTS += tests/unit/test_record_metrics
tests_unit_test_record_metrics_SOURCES = tests/unit/test_record_metrics.c $(STORE_TEST_SOURCES)
tests_unit_test_record_metrics_CPPFLAGS = $(AM_CPPFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_record_metrics_LDADD = $(STORE_LDADD)

UNIT_TESTS += tests/unit/test_record_gpus
tests_unit_test_record_gpus_SOURCES = tests/unit/test_record_gpus.c $(STORE_TEST_SOURCES)
tests_unit_test_record_gpus_CPPFLAGS = $(AM_CPPFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_record_gpus_LDADD = $(STORE_LDADD)

UNIT_TESTS += tests/unit/test_record_preflight
tests_unit_test_record_preflight_SOURCES = tests/unit/test_record_preflight.c $(STORE_TEST_SOURCES)
tests_unit_test_record_preflight_CPPFLAGS = $(AM_CPPFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_record_preflight_LDADD = $(STORE_LDADD)

UNIT_TESTS += tests/unit/test_exposition
tests_unit_test_exposition_SOURCES = tests/unit/test_exposition.c
tests_unit_test_exposition_LDADD = daemon/api/libapi.a $(UNIT_LDADD)

UNIT_TESTS += tests/unit/test_call
tests_unit_test_call_SOURCES = tests/unit/test_call.c
tests_unit_test_call_LDADD = $(DAEMON_LDADD) daemon/slurm/libcluster.a $(DAEMON_LIBS) $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/test_peers
tests_unit_test_peers_SOURCES = tests/unit/test_peers.c
tests_unit_test_peers_LDADD = daemon/api/libapi.a $(UNIT_LDADD)

UNIT_TESTS += tests/unit/test_server
tests_unit_test_server_SOURCES = tests/unit/test_server.c
tests_unit_test_server_LDADD = daemon/api/libapi.a $(UNIT_LDADD) $(MHD_LIBS) $(UV_LIBS)

UNIT_TESTS += tests/unit/test_answers
tests_unit_test_answers_SOURCES = tests/unit/test_answers.c $(STORE_TEST_SOURCES)
tests_unit_test_answers_CPPFLAGS = $(AM_CPPFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_answers_LDADD = $(STORE_LDADD)
UNIT_TESTS += tests/unit/test_answer_lists
tests_unit_test_answer_lists_SOURCES = tests/unit/test_answer_lists.c $(STORE_TEST_SOURCES)
tests_unit_test_answer_lists_CPPFLAGS = $(AM_CPPFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_answer_lists_LDADD = $(STORE_LDADD)
DAEMON_WORLD = tests/unit/daemon_world.c tests/unit/daemon_world.h \
	tests/unit/fake_cluster.c tests/unit/fake_cluster.h $(NEW_RECORD)
DAEMON_WORLD_LDADD = $(DAEMON_LDADD) daemon/slurm/libcluster.a $(DAEMON_LIBS) $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/test_daemon
tests_unit_test_daemon_SOURCES = tests/unit/test_daemon.c $(DAEMON_WORLD)
tests_unit_test_daemon_LDADD = $(DAEMON_WORLD_LDADD)

UNIT_TESTS += tests/unit/test_posts
tests_unit_test_posts_SOURCES = tests/unit/test_posts.c
tests_unit_test_posts_LDADD = $(DAEMON_LDADD) daemon/slurm/libcluster.a $(DAEMON_LIBS) $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/test_fit
tests_unit_test_fit_SOURCES = tests/unit/test_fit.c
tests_unit_test_fit_LDADD = $(DAEMON_LDADD) daemon/slurm/libcluster.a $(DAEMON_LIBS) $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/test_module
tests_unit_test_module_SOURCES = tests/unit/test_module.c $(FOLDER)
tests_unit_test_module_LDADD = daemon/slurm/libcluster.a $(UNIT_LDADD)

if HAVE_SLURM
UNIT_TESTS += tests/unit/test_slurm tests/unit/test_surveyor
endif
tests_unit_test_slurm_SOURCES = tests/unit/test_slurm.c $(FOLDER)
tests_unit_test_slurm_LDADD = $(SLURM_CLUSTER_LIBS) $(UNIT_LDADD)
tests_unit_test_surveyor_SOURCES = tests/unit/test_surveyor.c
tests_unit_test_surveyor_LDADD = $(SLURM_CLUSTER_LIBS) $(UNIT_LDADD)
EXTRA_DIST += tests/logs
UNIT_TESTS += tests/unit/test_extract
tests_unit_test_extract_SOURCES = tests/unit/test_extract.c
tests_unit_test_extract_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)
UNIT_TESTS += tests/unit/test_layout
tests_unit_test_layout_SOURCES = tests/unit/test_layout.c
tests_unit_test_layout_LDADD = $(UNIT_LDADD)
UNIT_TESTS += tests/unit/test_child
tests_unit_test_child_SOURCES = tests/unit/test_child.c
tests_unit_test_child_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)
EXTRA_DIST += tests/unit/container
UNIT_TESTS += tests/unit/test_container
tests_unit_test_container_SOURCES = tests/unit/test_container.c $(FOLDER)
tests_unit_test_container_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)
UNIT_TESTS += tests/unit/test_placement
tests_unit_test_placement_SOURCES = tests/unit/test_placement.c
tests_unit_test_placement_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)
UNIT_TESTS += tests/unit/test_rendezvous
tests_unit_test_rendezvous_SOURCES = tests/unit/test_rendezvous.c
tests_unit_test_rendezvous_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)
UNIT_TESTS += tests/unit/test_shards
tests_unit_test_shards_SOURCES = tests/unit/test_shards.c
tests_unit_test_shards_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)
UNIT_TESTS += tests/unit/test_overlay
tests_unit_test_overlay_SOURCES = tests/unit/test_overlay.c
tests_unit_test_overlay_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)
UNIT_TESTS += tests/unit/test_phase
tests_unit_test_phase_SOURCES = tests/unit/test_phase.c
tests_unit_test_phase_LDADD = $(DAEMON_LDADD) daemon/slurm/libcluster.a $(DAEMON_LIBS) $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/test_script
tests_unit_test_script_SOURCES = tests/unit/test_script.c
tests_unit_test_script_LDADD = $(UNIT_LDADD)

UNIT_TESTS += tests/unit/test_commands
tests_unit_test_commands_SOURCES = tests/unit/test_commands.c
tests_unit_test_commands_LDADD = $(UNIT_LDADD)

UNIT_TESTS += tests/unit/test_journal
tests_unit_test_journal_SOURCES = tests/unit/test_journal.c
tests_unit_test_journal_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/test_checkpoints
CHECKPOINT_FILES = tests/unit/checkpoint_files.c tests/unit/checkpoint_files.h $(FOLDER)
tests_unit_test_checkpoints_SOURCES = tests/unit/test_checkpoints.c $(CHECKPOINT_FILES)
tests_unit_test_checkpoints_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)
UNIT_TESTS += tests/unit/test_keep
tests_unit_test_keep_SOURCES = tests/unit/test_keep.c $(CHECKPOINT_FILES)
tests_unit_test_keep_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/test_space
tests_unit_test_space_SOURCES = tests/unit/test_space.c $(FOLDER)
tests_unit_test_space_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/test_lineage
tests_unit_test_lineage_SOURCES = tests/unit/test_lineage.c $(FOLDER)
tests_unit_test_lineage_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)
UNIT_TESTS += tests/unit/test_posthumous
tests_unit_test_posthumous_SOURCES = tests/unit/test_posthumous.c $(FOLDER)
tests_unit_test_posthumous_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)
UNIT_TESTS += tests/unit/test_steps
tests_unit_test_steps_SOURCES = tests/unit/test_steps.c
tests_unit_test_steps_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)
UNIT_TESTS += tests/unit/test_scontrol
tests_unit_test_scontrol_SOURCES = tests/unit/test_scontrol.c $(FOLDER)
tests_unit_test_scontrol_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)
UNIT_TESTS += tests/unit/test_grace
tests_unit_test_grace_SOURCES = tests/unit/test_grace.c $(FOLDER)
tests_unit_test_grace_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)
UNIT_TESTS += tests/unit/test_lead
tests_unit_test_lead_SOURCES = tests/unit/test_lead.c
tests_unit_test_lead_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)
UNIT_TESTS += tests/unit/test_requeue
tests_unit_test_requeue_SOURCES = tests/unit/test_requeue.c $(FOLDER)
tests_unit_test_requeue_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)
UNIT_TESTS += tests/unit/test_outcome
tests_unit_test_outcome_SOURCES = tests/unit/test_outcome.c $(FOLDER)
tests_unit_test_outcome_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/test_journal_order
tests_unit_test_journal_order_SOURCES = tests/unit/test_journal_order.c $(FOLDER)
tests_unit_test_journal_order_LDADD = $(DAEMON_WORLD_LDADD)

UNIT_TESTS += tests/unit/test_protocol
tests_unit_test_protocol_SOURCES = tests/unit/test_protocol.c $(FOLDER)
tests_unit_test_protocol_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)
EXTRA_DIST += tests/unit/protocol_files.txt
UNIT_TESTS += tests/unit/test_phase_claim
tests_unit_test_phase_claim_SOURCES = tests/unit/test_phase_claim.c $(FOLDER)
tests_unit_test_phase_claim_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)
UNIT_TESTS += tests/unit/test_orphan
tests_unit_test_orphan_SOURCES = tests/unit/test_orphan.c $(FOLDER)
tests_unit_test_orphan_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)
UNIT_TESTS += tests/unit/test_worker
tests_unit_test_worker_SOURCES = tests/unit/test_worker.c $(FOLDER)
tests_unit_test_worker_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)
tests_unit_test_daemon_faults_SOURCES = tests/unit/test_daemon_faults.c $(DAEMON_WORLD)
tests_unit_test_daemon_faults_LDADD = $(DAEMON_WORLD_LDADD)

UNIT_TESTS += tests/unit/test_link
tests_unit_test_link_SOURCES = tests/unit/test_link.c tests/unit/http_server.c \
	tests/unit/http_server.h
tests_unit_test_link_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/test_failure
tests_unit_test_failure_SOURCES = tests/unit/test_failure.c $(FOLDER)
tests_unit_test_failure_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/test_nodecheck
tests_unit_test_nodecheck_SOURCES = tests/unit/test_nodecheck.c
tests_unit_test_nodecheck_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/test_guards
tests_unit_test_guards_SOURCES = tests/unit/test_guards.c
tests_unit_test_guards_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/test_observer
tests_unit_test_observer_SOURCES = tests/unit/test_observer.c
tests_unit_test_observer_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/test_proof
tests_unit_test_proof_SOURCES = tests/unit/test_proof.c
tests_unit_test_proof_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/test_outlier
tests_unit_test_outlier_SOURCES = tests/unit/test_outlier.c
tests_unit_test_outlier_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/test_ras_status
tests_unit_test_ras_status_SOURCES = tests/unit/test_ras_status.c
tests_unit_test_ras_status_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/test_idle
tests_unit_test_idle_SOURCES = tests/unit/test_idle.c
tests_unit_test_idle_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/test_speed
tests_unit_test_speed_SOURCES = tests/unit/test_speed.c
tests_unit_test_speed_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/test_telemetry
tests_unit_test_telemetry_SOURCES = tests/unit/test_telemetry.c
tests_unit_test_telemetry_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/test_queue
tests_unit_test_queue_SOURCES = tests/unit/test_queue.c
tests_unit_test_queue_LDADD = $(DAEMON_WORLD_LDADD)

UNIT_TESTS += tests/unit/test_job_order
tests_unit_test_job_order_SOURCES = tests/unit/test_job_order.c
tests_unit_test_job_order_LDADD = $(DAEMON_WORLD_LDADD)

UNIT_TESTS += tests/unit/test_outbox
tests_unit_test_outbox_SOURCES = tests/unit/test_outbox.c
tests_unit_test_outbox_LDADD = $(DAEMON_WORLD_LDADD)

UNIT_TESTS += tests/unit/test_daemon_hostile
tests_unit_test_daemon_hostile_SOURCES = tests/unit/test_daemon_hostile.c $(DAEMON_WORLD)
tests_unit_test_daemon_hostile_LDADD = $(DAEMON_WORLD_LDADD)

UNIT_TESTS += tests/unit/test_daemon_owner
tests_unit_test_daemon_owner_SOURCES = tests/unit/test_daemon_owner.c $(DAEMON_WORLD)
tests_unit_test_daemon_owner_LDADD = $(DAEMON_WORLD_LDADD)

tests_unit_test_daemon_queue_SOURCES = tests/unit/test_daemon_queue.c $(DAEMON_WORLD)
tests_unit_test_daemon_queue_LDADD = $(DAEMON_WORLD_LDADD)

tests_unit_test_daemon_journal_SOURCES = tests/unit/test_daemon_journal.c $(DAEMON_WORLD)
tests_unit_test_daemon_journal_LDADD = $(DAEMON_WORLD_LDADD)

UNIT_TESTS += tests/unit/test_daemon_back
tests_unit_test_daemon_back_SOURCES = tests/unit/test_daemon_back.c $(DAEMON_WORLD)
tests_unit_test_daemon_back_LDADD = $(DAEMON_WORLD_LDADD)

UNIT_TESTS += tests/unit/test_daemon_stop
tests_unit_test_daemon_stop_SOURCES = tests/unit/test_daemon_stop.c $(DAEMON_WORLD)
tests_unit_test_daemon_stop_LDADD = $(DAEMON_WORLD_LDADD)

UNIT_TESTS += tests/unit/test_daemon_requeue
DAEMON_RUNS = tests/unit/daemon_runs.c tests/unit/daemon_runs.h $(DAEMON_WORLD)
tests_unit_test_daemon_requeue_SOURCES = tests/unit/test_daemon_requeue.c $(DAEMON_RUNS)
tests_unit_test_daemon_requeue_LDADD = $(DAEMON_WORLD_LDADD)
UNIT_TESTS += tests/unit/test_daemon_resume
tests_unit_test_daemon_resume_SOURCES = tests/unit/test_daemon_resume.c $(DAEMON_RUNS)
tests_unit_test_daemon_resume_LDADD = $(DAEMON_WORLD_LDADD)

UNIT_TESTS += tests/unit/test_core_beside
tests_unit_test_core_beside_SOURCES = tests/unit/test_core_beside.c $(CORE_WORLD)
tests_unit_test_core_beside_LDADD = $(CORE_LDADD)

UNIT_TESTS += tests/unit/test_core_back
tests_unit_test_core_back_SOURCES = tests/unit/test_core_back.c $(CORE_WORLD)
tests_unit_test_core_back_LDADD = $(CORE_LDADD)

UNIT_TESTS += tests/unit/test_core_polls
tests_unit_test_core_polls_SOURCES = tests/unit/test_core_polls.c $(CORE_WORLD)
tests_unit_test_core_polls_LDADD = $(CORE_LDADD)

UNIT_TESTS += tests/unit/test_core_clock
tests_unit_test_core_clock_SOURCES = tests/unit/test_core_clock.c $(CORE_WORLD)
tests_unit_test_core_clock_LDADD = $(CORE_LDADD)

UNIT_TESTS += tests/unit/test_core_stalls
tests_unit_test_core_stalls_SOURCES = tests/unit/test_core_stalls.c $(CORE_WORLD)
tests_unit_test_core_stalls_LDADD = $(CORE_LDADD)

UNIT_TESTS += tests/unit/test_core_nodes
tests_unit_test_core_nodes_SOURCES = tests/unit/test_core_nodes.c $(CORE_WORLD)
tests_unit_test_core_nodes_LDADD = $(CORE_LDADD)

UNIT_TESTS += tests/unit/test_nodes
tests_unit_test_nodes_SOURCES = tests/unit/test_nodes.c $(STORE_TEST_SOURCES)
tests_unit_test_nodes_CPPFLAGS = $(AM_CPPFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_nodes_LDADD = $(STORE_LDADD)

UNIT_TESTS += tests/unit/test_daemon_budget
tests_unit_test_daemon_budget_SOURCES = tests/unit/test_daemon_budget.c $(DAEMON_WORLD)
tests_unit_test_daemon_budget_LDADD = $(DAEMON_WORLD_LDADD)

UNIT_TESTS += tests/unit/test_daemon_can
tests_unit_test_daemon_can_SOURCES = tests/unit/test_daemon_can.c $(DAEMON_WORLD)
tests_unit_test_daemon_can_LDADD = $(DAEMON_WORLD_LDADD)

UNIT_TESTS += tests/unit/test_daemon_nodes
tests_unit_test_daemon_nodes_SOURCES = tests/unit/test_daemon_nodes.c $(DAEMON_WORLD)
tests_unit_test_daemon_nodes_LDADD = $(DAEMON_WORLD_LDADD)

UNIT_TESTS += tests/unit/test_hang
tests_unit_test_hang_SOURCES = tests/unit/test_hang.c
tests_unit_test_hang_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/test_core_remedy
tests_unit_test_core_remedy_SOURCES = tests/unit/test_core_remedy.c $(CORE_WORLD)
tests_unit_test_core_remedy_LDADD = $(CORE_LDADD)
UNIT_TESTS += tests/unit/test_core_candidate
tests_unit_test_core_candidate_SOURCES = tests/unit/test_core_candidate.c $(CORE_WORLD)
tests_unit_test_core_candidate_LDADD = $(CORE_LDADD)

UNIT_TESTS += tests/unit/test_remedies
tests_unit_test_remedies_SOURCES = tests/unit/test_remedies.c
tests_unit_test_remedies_LDADD = $(UNIT_LDADD)

UNIT_TESTS += tests/unit/test_record_remedies
tests_unit_test_record_remedies_SOURCES = tests/unit/test_record_remedies.c $(STORE_TEST_SOURCES)
tests_unit_test_record_remedies_CPPFLAGS = $(AM_CPPFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_record_remedies_LDADD = $(STORE_LDADD)

UNIT_TESTS += tests/unit/test_pace
tests_unit_test_pace_SOURCES = tests/unit/test_pace.c
tests_unit_test_pace_LDADD = $(WORKER_LIBS) $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/test_core_matrix
tests_unit_test_core_matrix_SOURCES = tests/unit/test_core_matrix.c $(MATRIX_WORLD)
tests_unit_test_core_matrix_LDADD = $(CORE_LDADD)
UNIT_TESTS += tests/unit/test_core_matrix_command
tests_unit_test_core_matrix_command_SOURCES = tests/unit/test_core_matrix_command.c $(MATRIX_WORLD)
tests_unit_test_core_matrix_command_LDADD = $(CORE_LDADD)

UNIT_TESTS += tests/unit/test_record_matrix
tests_unit_test_record_matrix_SOURCES = tests/unit/test_record_matrix.c $(STORE_TEST_SOURCES)
tests_unit_test_record_matrix_CPPFLAGS = $(AM_CPPFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_record_matrix_LDADD = $(STORE_LDADD)
EXTRA_DIST += tests/unit/README.md tests/unit/unit.h

UNIT_TESTS += tests/unit/test_service
tests_unit_test_service_SOURCES = tests/unit/test_service.c
tests_unit_test_service_LDADD = daemon/libdaemon.a $(UNIT_LDADD)
