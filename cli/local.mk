# cli: phasectl. Links neither libuv, Slurm nor libmicrohttpd; only cli/reader and
# cli/metrics/trackio.c use SQLite.
bin_PROGRAMS += bin/phasectl
bin_phasectl_SOURCES = cli/main.c
bin_phasectl_LDADD = cli/top/libtop.a cli/libcli.a lib/libphased.a $(NCURSES_LIBS) \
	$(FYAML_LIBS) $(JANSSON_LIBS) $(PCRE2_LIBS) $(SODIUM_LIBS) $(CURL_LIBS) $(SQLITE_LIBS) -lm

# Runs phased as a job of Slurm. The build folder looks like an installation.
dist_module_SCRIPTS += cli/daemon-job
noinst_DATA += lib/phased/daemon-job
lib/phased/daemon-job: cli/daemon-job
	$(AM_V_at)$(MKDIR_P) lib/phased && cp $< $@

include cli/top/local.mk

# All of phasectl but its main, for tests too.
noinst_LIBRARIES += cli/libcli.a
cli_libcli_a_SOURCES = \
	cli/action.c \
	cli/attach.c \
	cli/check.c \
	cli/cli.c cli/cli.h \
	cli/client.c cli/client.h \
	cli/compare/diff.c \
	cli/compare/difference.c cli/compare/difference.h \
	cli/cost.c \
	cli/current.c cli/current.h \
	cli/daemon.c \
	cli/daemon_job.c cli/daemon_job.h \
	cli/decide.c cli/decide.h \
	cli/doctor/doctor.c \
	cli/doctor/finding.c cli/doctor/finding.h \
	cli/doctor/machine.c cli/doctor/machine.h \
	cli/doctor/nodelist.c cli/doctor/nodelist.h \
	cli/doctor/phased.c cli/doctor/phased.h \
	cli/doctor/settings.c cli/doctor/settings.h \
	cli/doctor/slurm.c cli/doctor/slurm.h \
	cli/events.c \
	cli/evidence.c cli/evidence.h \
	cli/failures.c \
	cli/field.c cli/field.h \
	cli/filter.c cli/filter.h \
	cli/format.c cli/format.h \
	cli/gate.c \
	cli/gpu_view.c cli/gpu_view.h \
	cli/gpus.c \
	cli/held.c cli/held.h \
	cli/import.c \
	cli/logs/lines.c cli/logs/lines.h \
	cli/logs/logs.c \
	cli/logs/stream.c cli/logs/stream.h \
	cli/mcp/call.c cli/mcp/call.h \
	cli/mcp/mcp.c \
	cli/mcp/tool.c cli/mcp/tool.h \
	cli/metrics/curves.c cli/metrics/curves.h \
	cli/metrics/export.c cli/metrics/export.h \
	cli/metrics/metrics.c \
	cli/metrics/plot.c cli/metrics/plot.h \
	cli/metrics/stitch.c cli/metrics/stitch.h \
	cli/metrics/tfevents.c cli/metrics/tfevents.h \
	cli/metrics/trackio.c cli/metrics/trackio.h \
	cli/nodes.c \
	cli/oldlog.c cli/oldlog.h \
	cli/open.c cli/open.h \
	cli/options.c cli/options.h \
	cli/otlp.c cli/otlp.h \
	cli/phrases.c cli/phrases.h \
	cli/plan.c \
	cli/provenance.c cli/provenance.h \
	cli/reader/folder.c cli/reader/folder.h \
	cli/reader/reader.c cli/reader/reader.h \
	cli/reader/record.c cli/reader/record.h \
	cli/rehearse.c \
	cli/remote/code.c cli/remote/code.h \
	cli/remote/command.c cli/remote/command.h \
	cli/remote/connection.c cli/remote/connection.h \
	cli/remote/page.c cli/remote/page.h \
	cli/remote/remote.c cli/remote/remote.h \
	cli/remote/session.c cli/remote/session.h \
	cli/runs.c \
	cli/sandbox.c \
	cli/script_words.c cli/script_words.h \
	cli/show.c \
	cli/source.c cli/source.h \
	cli/spans.c cli/spans.h \
	cli/status.c \
	cli/submit.c cli/submit.h \
	cli/table.c cli/table.h \
	cli/terminal.c cli/terminal.h \
	cli/verbs.c cli/verbs.h \
	cli/view.c cli/view.h \
	cli/watch.c cli/watch.h \
	cli/watch_view.c cli/watch_view.h \
	cli/why.c

# The build folder looks like an installation: programs in bin/, helpers in libexec/phased/.
noinst_DATA += libexec/phased
CLEANFILES += libexec/phased
libexec/phased:
	$(AM_V_at)$(MKDIR_P) libexec && ln -sfn '$(abs_top_srcdir)/etc/sandbox' $@
EXTRA_DIST += cli/README.md cli/compare/README.md cli/doctor/README.md cli/logs/README.md cli/mcp/README.md cli/metrics/README.md cli/reader/README.md cli/remote/README.md \
	cli/top/README.md
