# etc: what is installed as it is: examples, the sandbox and completions.
dist_pkglibexec_SCRIPTS += etc/sandbox/sandbox
sandboxdir = $(pkglibexecdir)
dist_sandbox_DATA = etc/sandbox/configuration.bash
examplesdir = $(docdir)/examples
dist_examples_DATA = etc/workflows/demo.yaml etc/workflows/distill.yaml \
	etc/workflows/remedies.yaml etc/workflows/trm-two-phase.yaml \
	etc/workflows/prompt-distillation.yaml etc/workflows/bd3lm-h200.yaml \
	etc/workflows/hdp-diffusion-h200.yaml etc/workflows/latentwire.yaml \
	etc/workflows/h100-mfu.yaml etc/prolog/preflight
dist_pkgdata_DATA = etc/failures.yaml etc/preflight.yaml
grafanadir = $(pkgdatadir)/grafana
dist_grafana_DATA = etc/grafana/phased.json
bashcompletiondir = $(datadir)/bash-completion/completions
nodist_bashcompletion_DATA = etc/completions/phasectl
EXTRA_DIST += etc/completions/phasectl.bash etc/grafana/README.md etc/prolog/README.md
CLEANFILES += etc/completions/phasectl

# bash finds a completion by the command's name.
etc/completions/phasectl: etc/completions/phasectl.bash
	$(AM_V_GEN)$(MKDIR_P) etc/completions && cp $< $@

# The unit names the path of phased, which depends on the prefix that `make install` is given.
systemduserunitdir = $(prefix)/lib/systemd/user
nodist_systemduserunit_DATA = etc/systemd/phased.service
EXTRA_DIST += etc/systemd/phased.service.in etc/systemd/README.md
CLEANFILES += etc/systemd/phased.service
etc/systemd/phased.service: FORCE
	$(AM_V_at)$(MKDIR_P) etc/systemd; \
		unit=`$(SED) 's|@bindir[@]|$(bindir)|' $(srcdir)/etc/systemd/phased.service.in` && \
		{ echo "$$unit" | cmp -s - $@ || echo "$$unit" >$@; }
FORCE:
.PHONY: FORCE

# The build folder looks like an installation: data in share/phased/.
noinst_DATA += share/phased
CLEANFILES += share/phased
share/phased:
	$(AM_V_at)$(MKDIR_P) share && ln -sfn '$(abs_top_srcdir)/etc' $@
EXTRA_DIST += etc/README.md etc/sandbox/README.md etc/tarball
