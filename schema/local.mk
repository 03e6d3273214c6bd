# schema: the SQL of the record, embedded into the daemon. A new query is one line in QUERIES.
MIGRATIONS = schema/001_record.sql schema/002_on_the_nodes.sql schema/003_pipelines.sql \
	schema/004_suspect.sql schema/005_unseen.sql schema/006_journal_gap.sql \
	schema/007_begin_step.sql schema/008_seal.sql schema/009_lease.sql \
	schema/010_migration.sql schema/011_gap_step.sql schema/012_seat.sql \
	schema/013_silent.sql
QUERIES = \
	schema/queries/job_find_token.sql \
	schema/queries/notice_retry.sql \
	schema/queries/notice_done.sql \
	schema/queries/notice_list.sql \
	schema/queries/beside_load.sql \
	schema/queries/budget_set.sql \
	schema/queries/provenance_insert.sql \
	schema/queries/run_find_workflow.sql \
	schema/queries/source_answer.sql \
	schema/queries/budget_tell.sql \
	schema/queries/budgets.sql \
	schema/queries/changes_list.sql \
	schema/queries/checkpoint_list.sql \
	schema/queries/checkpoint_put.sql \
	schema/queries/checkpoint_suspect.sql \
	schema/queries/choice_insert.sql \
	schema/queries/costs_answer.sql \
	schema/queries/edge_insert.sql \
	schema/queries/edge_load.sql \
	schema/queries/event_insert.sql \
	schema/queries/events_after.sql \
	schema/queries/events_of_workflow.sql \
	schema/queries/evidence_answer.sql \
	schema/queries/evidence_put.sql \
	schema/queries/expected_answer.sql \
	schema/queries/expected_whole.sql \
	schema/queries/failure_answer.sql \
	schema/queries/failure_put.sql \
	schema/queries/gate_answer.sql \
	schema/queries/gate_checks.sql \
	schema/queries/gate_run.sql \
	schema/queries/gpu_idle_add.sql \
	schema/queries/gpu_put.sql \
	schema/queries/gpus_answer.sql \
	schema/queries/guard_checks.sql \
	schema/queries/job_load.sql \
	schema/queries/job_save.sql \
	schema/queries/seat_load.sql \
	schema/queries/seat_save.sql \
	schema/queries/journal_gap_put.sql \
	schema/queries/journal_gaps.sql \
	schema/queries/metric_told.sql \
	schema/queries/journal_get.sql \
	schema/queries/journal_set.sql \
	schema/queries/last_ids.sql \
	schema/queries/launch_load.sql \
	schema/queries/lease_get.sql \
	schema/queries/lease_take.sql \
	schema/queries/matrix_insert.sql \
	schema/queries/matrix_load.sql \
	schema/queries/matrix_save.sql \
	schema/queries/member_insert.sql \
	schema/queries/member_load.sql \
	schema/queries/member_save.sql \
	schema/queries/members_list.sql \
	schema/queries/metric_insert.sql \
	schema/queries/metric_lineage.sql \
	schema/queries/metric_name_find.sql \
	schema/queries/metric_name_insert.sql \
	schema/queries/metric_rows.sql \
	schema/queries/metric_tail.sql \
	schema/queries/metrics_newest.sql \
	schema/queries/month_load.sql \
	schema/queries/month_save.sql \
	schema/queries/month_spending.sql \
	schema/queries/node_answer.sql \
	schema/queries/node_clear.sql \
	schema/queries/node_insert.sql \
	schema/queries/node_last.sql \
	schema/queries/node_list.sql \
	schema/queries/outbox_delete.sql \
	schema/queries/outbox_list.sql \
	schema/queries/outbox_put.sql \
	schema/queries/pace_put.sql \
	schema/queries/paces_answer.sql \
	schema/queries/result_find.sql \
	schema/queries/member_step.sql \
	schema/queries/phase_answer.sql \
	schema/queries/phase_find.sql \
	schema/queries/phase_insert.sql \
	schema/queries/phase_load.sql \
	schema/queries/phase_replan.sql \
	schema/queries/phase_save.sql \
	schema/queries/phase_similar.sql \
	schema/queries/phase_spec.sql \
	schema/queries/phases_of_workflow.sql \
	schema/queries/preflight_answer.sql \
	schema/queries/preflight_put.sql \
	schema/queries/preflight_row_put.sql \
	schema/queries/promotion_insert.sql \
	schema/queries/remedy_insert.sql \
	schema/queries/run_answer.sql \
	schema/queries/run_find.sql \
	schema/queries/run_hardware_set.sql \
	schema/queries/run_load.sql \
	schema/queries/run_suspect.sql \
	schema/queries/run_nodes_set.sql \
	schema/queries/run_save.sql \
	schema/queries/run_spec.sql \
	schema/queries/run_warnings.sql \
	schema/queries/runs_all.sql \
	schema/queries/runs_at_work.sql \
	schema/queries/runs_of_phase.sql \
	schema/queries/runs_of_workflow.sql \
	schema/queries/sample_coarsen.sql \
	schema/queries/sample_drop.sql \
	schema/queries/sample_oldest.sql \
	schema/queries/sample_put.sql \
	schema/queries/secret_get.sql \
	schema/queries/secret_set.sql \
	schema/queries/source_load.sql \
	schema/queries/spending.sql \
	schema/queries/verdict_delete.sql \
	schema/queries/verdict_insert.sql \
	schema/queries/workflow_answer.sql \
	schema/queries/workflow_find_key.sql \
	schema/queries/workflow_insert.sql \
	schema/queries/workflow_live.sql \
	schema/queries/workflow_load.sql \
	schema/queries/workflow_save.sql \
	schema/queries/workflow_state.sql \
	schema/queries/workflows_count.sql \
	schema/queries/workflows_recent.sql

BUILT_SOURCES += schema/queries.h schema/queries.c
CLEANFILES += schema/queries.h schema/queries.c
EXTRA_DIST += schema/embed.awk $(MIGRATIONS) $(QUERIES) schema/README.md daemon/store/README.md \
	doc/record.md

schema/queries.h: schema/embed.awk schema/local.mk $(MIGRATIONS) $(QUERIES)
	$(AM_V_GEN)$(MKDIR_P) schema && cd $(srcdir) && \
	$(AWK) -v part=header -f schema/embed.awk $(MIGRATIONS) $(QUERIES) > "$(abs_builddir)/$@.new" && \
	mv "$(abs_builddir)/$@.new" "$(abs_builddir)/$@"

schema/queries.c: schema/embed.awk schema/local.mk $(MIGRATIONS) $(QUERIES)
	$(AM_V_GEN)$(MKDIR_P) schema && cd $(srcdir) && \
	$(AWK) -v part=source -f schema/embed.awk $(MIGRATIONS) $(QUERIES) > "$(abs_builddir)/$@.new" && \
	mv "$(abs_builddir)/$@.new" "$(abs_builddir)/$@"
# schema: what editors and the record need to know of the data.
dist_noinst_DATA += schema/workflow.schema.json

# What is made of the table of keys is committed, so that editors find the schema in the sources, and
# tests/specs/test_keys.sh compares. After a change of the table: make keys
dist_noinst_DATA += schema/forms.json
EXTRA_DIST += schema/splice.awk
check_PROGRAMS += schema/write_keys
schema_write_keys_SOURCES = schema/write_keys.c
schema_write_keys_LDADD = lib/libphased.a $(FYAML_LIBS) $(JANSSON_LIBS) $(PCRE2_LIBS) -lm

keys: schema/write_keys
	cd $(srcdir) && \
	"$(abs_builddir)/schema/write_keys" schema schema/forms.json > schema/workflow.schema.json && \
	"$(abs_builddir)/schema/write_keys" manual schema/forms.json | \
		$(AWK) -f schema/splice.awk - doc/man/phased-spec.5 > "$(abs_builddir)/phased-spec.5" && \
	cat "$(abs_builddir)/phased-spec.5" > doc/man/phased-spec.5 && \
	rm "$(abs_builddir)/phased-spec.5"
.PHONY: keys
