# tests/unit: one program for each module. Add its name to UNIT_TESTS: automake compiles the file of
# the same name.
UNIT_LIBS = $(CMOCKA_LIBS) $(FYAML_LIBS) $(JANSSON_LIBS) $(PCRE2_LIBS) $(SODIUM_LIBS) \
	$(CURL_LIBS) -lm
UNIT_LDADD = tests/unit/libunit.a lib/libphased.a $(UNIT_LIBS)

# The libraries of each program without _LDADD. The linker takes from them what a test needs.
LDADD = tests/unit/libunit.a $(DAEMON_LDADD) daemon/slurm/libcluster.a worker/libworker.a \
	cli/top/libtop.a cli/libcli.a $(DAEMON_LIBS) -lpthread $(CMOCKA_LIBS)

# With -O2, the unit tests take longer to compile than to run.
tests/unit/%.o: CFLAGS += -Og

# The worlds and scenes that several tests share.
if HAVE_CMOCKA
check_LIBRARIES = tests/unit/libunit.a
endif
tests_unit_libunit_a_SOURCES = tests/unit/extracting.h tests/unit/unit.h \
	tests/unit/answer_scene.c tests/unit/answer_scene.h \
	tests/unit/checkpoint_files.c tests/unit/checkpoint_files.h \
	tests/unit/core_world.c tests/unit/core_world.h \
	tests/unit/daemon_runs.c tests/unit/daemon_runs.h \
	tests/unit/daemon_world.c tests/unit/daemon_world.h \
	tests/unit/expr_case.c tests/unit/expr_case.h \
	tests/unit/fake_cluster.c tests/unit/fake_cluster.h \
	tests/unit/folder.c tests/unit/folder.h \
	tests/unit/http_server.c tests/unit/http_server.h \
	tests/unit/matrix_world.c tests/unit/matrix_world.h \
	tests/unit/new_record.c tests/unit/new_record.h \
	tests/unit/record.c tests/unit/record.h \
	tests/unit/same_lines.c tests/unit/same_lines.h \
	tests/unit/saved_model.c tests/unit/saved_model.h \
	tests/unit/top_world.c tests/unit/top_world.h

UNIT_TESTS += \
	tests/unit/test_address tests/unit/test_answer_lists \
	tests/unit/test_answer_runs tests/unit/test_answers \
	tests/unit/test_call tests/unit/test_catalogue tests/unit/test_channel \
	tests/unit/test_check tests/unit/test_checkpoints tests/unit/test_child \
	tests/unit/test_cli tests/unit/test_commands tests/unit/test_container \
	tests/unit/test_core \
	tests/unit/test_core_back tests/unit/test_core_beside tests/unit/test_core_candidate \
	tests/unit/test_core_clock tests/unit/test_core_command tests/unit/test_core_graph \
	tests/unit/test_core_matrix tests/unit/test_core_matrix_command tests/unit/test_core_nodes \
	tests/unit/test_core_polls tests/unit/test_core_remedy tests/unit/test_core_stalls \
	tests/unit/test_core_tables tests/unit/test_core_walk tests/unit/test_daemon \
	tests/unit/test_daemon_back tests/unit/test_daemon_backlog \
	tests/unit/test_daemon_beside tests/unit/test_daemon_budget tests/unit/test_daemon_can \
	tests/unit/test_daemon_hostile tests/unit/test_daemon_limits tests/unit/test_daemon_matrix \
	tests/unit/test_daemon_nodes tests/unit/test_daemon_owner tests/unit/test_daemon_record \
	tests/unit/test_daemon_requeue tests/unit/test_daemon_resume tests/unit/test_daemon_stop \
	tests/unit/test_daemon_submissions tests/unit/test_difference tests/unit/test_doctor \
	tests/unit/test_error tests/unit/test_evidence tests/unit/test_exposition \
	tests/unit/test_expr tests/unit/test_expr_refusals tests/unit/test_extract \
	tests/unit/test_failure tests/unit/test_failures tests/unit/test_file \
	tests/unit/test_fit tests/unit/test_gpu_view tests/unit/test_grace \
	tests/unit/test_guards tests/unit/test_hang tests/unit/test_held tests/unit/test_home \
	tests/unit/test_http tests/unit/test_idle tests/unit/test_job_order \
	tests/unit/test_job_steps tests/unit/test_journal tests/unit/test_journal_order \
	tests/unit/test_keep tests/unit/test_keys tests/unit/test_layout tests/unit/test_lead \
	tests/unit/test_lineage tests/unit/test_link tests/unit/test_logs \
	tests/unit/test_logs_follow tests/unit/test_loopback tests/unit/test_mac \
	tests/unit/test_metrics tests/unit/test_module tests/unit/test_nodecheck \
	tests/unit/test_nodes tests/unit/test_observer tests/unit/test_option \
	tests/unit/test_orphan tests/unit/test_outbox tests/unit/test_outcome \
	tests/unit/test_outlier tests/unit/test_overlay tests/unit/test_pace \
	tests/unit/test_pattern tests/unit/test_peers tests/unit/test_phase \
	tests/unit/test_phase_claim tests/unit/test_placement tests/unit/test_plan \
	tests/unit/test_plot tests/unit/test_posthumous tests/unit/test_posts \
	tests/unit/test_progress tests/unit/test_proof tests/unit/test_protocol tests/unit/test_queries \
	tests/unit/test_queue tests/unit/test_rank_environment tests/unit/test_ras_status \
	tests/unit/test_reader \
	tests/unit/test_record tests/unit/test_record_costs tests/unit/test_record_gpus \
	tests/unit/test_record_launch tests/unit/test_record_matrix \
	tests/unit/test_record_metrics tests/unit/test_record_preflight \
	tests/unit/test_record_remedies tests/unit/test_record_seat tests/unit/test_rehearsal \
	tests/unit/test_remedies tests/unit/test_remote tests/unit/test_rendezvous \
	tests/unit/test_requeue tests/unit/test_sbatch_options tests/unit/test_schema \
	tests/unit/test_scontrol tests/unit/test_script tests/unit/test_secrets tests/unit/test_server \
	tests/unit/test_service tests/unit/test_shards tests/unit/test_slurm_options \
	tests/unit/test_space tests/unit/test_spans tests/unit/test_spec tests/unit/test_speed \
	tests/unit/test_store tests/unit/test_store_faults tests/unit/test_table \
	tests/unit/test_telemetry tests/unit/test_text tests/unit/test_tfevents \
	tests/unit/test_top tests/unit/test_top_keys tests/unit/test_top_wants \
	tests/unit/test_units tests/unit/test_variants tests/unit/test_worker

# The view without the verb `top`, which asks a terminal.
tests_unit_test_top_SOURCES = tests/unit/test_top.c cli/top/absent.c

# The real cluster_*() are in the module of one Slurm.
if HAVE_SLURM
UNIT_TESTS += tests/unit/test_slurm tests/unit/test_surveyor
endif
tests_unit_test_slurm_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS)
tests_unit_test_slurm_LDADD = $(SLURM_CLUSTER_LIBS) $(UNIT_LDADD)
tests_unit_test_surveyor_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS)
tests_unit_test_surveyor_LDADD = $(SLURM_CLUSTER_LIBS) $(UNIT_LDADD)

# phase-model has functions of the same names as other programs.
MODEL_LDADD = tests/unit/libunit.a worker/model/libmodel.a lib/libphased.a $(UNIT_LIBS) -lpthread
MODEL_TESTS = \
	tests/unit/test_model tests/unit/test_model_checkpoint tests/unit/test_model_data \
	tests/unit/test_model_decode tests/unit/test_model_draw tests/unit/test_model_kernels \
	tests/unit/test_model_prompts tests/unit/test_model_ranks tests/unit/test_model_saver \
	tests/unit/test_model_shard tests/unit/test_model_tokenizer
UNIT_TESTS += $(MODEL_TESTS)
tests_unit_test_model_LDADD = $(MODEL_LDADD)
tests_unit_test_model_checkpoint_LDADD = $(MODEL_LDADD)
tests_unit_test_model_data_LDADD = $(MODEL_LDADD)
tests_unit_test_model_decode_LDADD = $(MODEL_LDADD)
tests_unit_test_model_draw_LDADD = $(MODEL_LDADD)
tests_unit_test_model_kernels_LDADD = $(MODEL_LDADD)
tests_unit_test_model_prompts_LDADD = $(MODEL_LDADD)
tests_unit_test_model_ranks_LDADD = $(MODEL_LDADD)
tests_unit_test_model_saver_LDADD = $(MODEL_LDADD)
tests_unit_test_model_shard_LDADD = $(MODEL_LDADD)
tests_unit_test_model_tokenizer_LDADD = $(MODEL_LDADD)

include tests/unit/preflight.mk
include tests/unit/model_gpu.mk

TESTS += tests/unit/test_completion.bats tests/unit/test_model_tokenize.bats
EXTRA_DIST += tests/logs tests/unit/README.md tests/unit/container tests/unit/hurry.bash \
	tests/unit/protocol_files.txt tests/unit/record_011.sql tests/unit/schema_011.sql \
	tests/unit/test_completion.bats tests/unit/test_model_generate.bats \
	tests/unit/test_model_tokenize.bats tests/unit/test_model_train.bats
