# schema: the SQL of the record, embedded into the daemon. RECORD and QUERIES have a file for each
# topic. The numbers in the names of MIGRATIONS are versions of the schema.
RECORD = schema/record/workflow.sql schema/record/run.sql schema/record/gate.sql \
	schema/record/node.sql schema/record/daemon.sql schema/record/cost.sql
MIGRATIONS = schema/012_seat.sql schema/013_silent.sql schema/014_suspected.sql \
	schema/015_search.sql schema/016_hold_budget.sql schema/017_stop_reason.sql \
	schema/018_event_members.sql schema/019_similar.sql schema/020_waiting.sql \
	schema/021_chosen.sql schema/022_cluster.sql schema/023_notice_of_members.sql \
	schema/024_requeues_and_notices.sql
QUERIES = schema/queries/checkpoint.sql schema/queries/cost.sql schema/queries/event.sql \
	schema/queries/gate.sql schema/queries/gpu.sql schema/queries/job.sql \
	schema/queries/journal.sql schema/queries/matrix.sql schema/queries/metric.sql \
	schema/queries/node.sql schema/queries/phase.sql schema/queries/record.sql \
	schema/queries/remedy.sql schema/queries/run.sql schema/queries/workflow.sql

BUILT_SOURCES += schema/queries.h schema/queries.c
CLEANFILES += schema/queries.h schema/queries.c
EXTRA_DIST += schema/embed.awk $(RECORD) $(MIGRATIONS) $(QUERIES) schema/README.md \
	daemon/store/README.md doc/record.md

schema/queries.h: schema/embed.awk schema/local.mk $(RECORD) $(MIGRATIONS) $(QUERIES)
	$(AM_V_GEN)$(MKDIR_P) schema && cd $(srcdir) && \
	$(AWK) -v part=header -f schema/embed.awk $(RECORD) $(MIGRATIONS) $(QUERIES) \
		> "$(abs_builddir)/$@"

schema/queries.c: schema/embed.awk schema/local.mk $(RECORD) $(MIGRATIONS) $(QUERIES)
	$(AM_V_GEN)$(MKDIR_P) schema && cd $(srcdir) && \
	$(AWK) -v part=source -f schema/embed.awk $(RECORD) $(MIGRATIONS) $(QUERIES) \
		> "$(abs_builddir)/$@"
# schema: what editors and the record need to know of the data.
dist_noinst_DATA += schema/workflow.schema.json

# The files made from the table of keys are committed, so that editors find the schema in the sources.
# tests/specs/test_keys.sh compares them with the table. After a change of the table: make keys
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
	rm "$(abs_builddir)/phased-spec.5" && \
	"$(abs_builddir)/schema/write_keys" reference schema/forms.json > doc/spec.md
.PHONY: keys
