# web: the page, embedded into the daemon.
WEB_FILES = web/index.html web/style.css web/api.js web/app.js web/axis.js web/chart.js \
	web/compare.js web/costs.js web/curves.js web/dom.js web/events.js web/format.js web/heat.js \
	web/keys.js web/log.js web/marks.js web/members.js web/metric.js web/nodes.js web/parts.js web/phase.js \
	web/route.js web/timeline.js web/verbs.js web/words.js web/workflow.js web/workflows.js
EXTRA_DIST += web/embed.sh web/README.md $(WEB_FILES)
CLEANFILES += web/files.c
nodist_daemon_api_libapi_a_SOURCES = web/files.c

# dygraphs is not a prerequisite: make would stop if dygraphs was removed after the build. A change
# of config.status says that configure has looked for dygraphs again.
web/files.c: web/embed.sh web/local.mk $(WEB_FILES) config.status
	$(AM_V_GEN)$(MKDIR_P) web && cd $(srcdir) && \
	$(SHELL) web/embed.sh $(WEB_FILES) $(DYGRAPHS) > "$(abs_builddir)/$@"
