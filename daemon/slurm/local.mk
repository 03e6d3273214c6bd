# daemon/slurm: the batch system behind struct cluster; the only includer of slurm/*.h.
noinst_LIBRARIES += daemon/slurm/libcluster.a
daemon_slurm_libcluster_a_SOURCES = \
	daemon/slurm/cluster.c daemon/slurm/cluster.h \
	daemon/slurm/module.c daemon/slurm/module.h \
	daemon/slurm/survey.c daemon/slurm/survey.h

# What calls libslurm. Tests link it. phased opens it as a module, which build-slurm builds.
SLURM_CLUSTER_SOURCES = \
	daemon/slurm/answer.c daemon/slurm/answer.h \
	daemon/slurm/configuration.c daemon/slurm/configuration.h \
	daemon/slurm/partitions.c daemon/slurm/partitions.h \
	daemon/slurm/slurm_cluster.c daemon/slurm/slurm_cluster.h \
	daemon/slurm/submission.c daemon/slurm/submission.h \
	daemon/slurm/surveyor.c daemon/slurm/surveyor.h \
	daemon/slurm/versions.h
if HAVE_SLURM
noinst_LIBRARIES += daemon/slurm/libslurm_cluster.a
daemon_slurm_libslurm_cluster_a_SOURCES = $(SLURM_CLUSTER_SOURCES)
daemon_slurm_libslurm_cluster_a_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS)
SLURM_CLUSTER_LIBS = daemon/slurm/libslurm_cluster.a daemon/slurm/libcluster.a \
	lib/libphased.a $(SLURM_LIBS)
SLURM_MODULE = lib/phased/phased-slurm-$(SLURM_MAJOR).so
endif

# The sources of a module are installed, so that build-slurm can build one on any cluster.
moduledir = $(pkglibdir)
dist_module_SCRIPTS = daemon/slurm/build-slurm
module_DATA = $(SLURM_MODULE)
modulesourcedir = $(pkglibdir)/source
nobase_dist_modulesource_DATA = $(SLURM_CLUSTER_SOURCES) \
	daemon/slurm/cluster.c daemon/slurm/cluster.h daemon/slurm/module.h \
	daemon/slurm/survey.c daemon/slurm/survey.h \
	lib/clock.c lib/clock.h lib/command.c lib/command.h lib/error.c lib/error.h \
	lib/file.c lib/file.h \
	lib/memory.c lib/memory.h \
	lib/protocol/job_state.h lib/protocol/words.c lib/protocol/words.h \
	lib/spec/slurm_options.c lib/spec/slurm_options.h lib/text.c lib/text.h lib/units.c lib/units.h
nobase_nodist_modulesource_DATA = daemon/slurm/interface.h
EXTRA_DIST += daemon/slurm/README.md

# What phased and a module must agree on.
MODULE_INTERFACE = daemon/slurm/cluster.h daemon/slurm/module.h daemon/slurm/slurm_cluster.h \
	daemon/slurm/survey.h lib/error.h lib/protocol/job_state.h lib/spec/slurm_options.h
daemon/slurm/interface.h: $(MODULE_INTERFACE)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && sum=$$(cat $^ | cksum) && \
		echo "#define CLUSTER_INTERFACE \"$$sum\"" >$@
daemon/slurm/features.h: daemon/slurm/build-slurm config.status
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
		CC='$(CC)' CPPFLAGS='$(CPPFLAGS)' SLURM_PREFIX='$(SLURM_PREFIX)' bash $< features >$@
BUILT_SOURCES += daemon/slurm/interface.h
CLEANFILES += daemon/slurm/interface.h daemon/slurm/features.h
$(daemon_slurm_libcluster_a_OBJECTS): daemon/slurm/interface.h
if HAVE_SLURM
BUILT_SOURCES += daemon/slurm/features.h
$(daemon_slurm_libslurm_cluster_a_OBJECTS): daemon/slurm/interface.h daemon/slurm/features.h
endif

# The build folder looks like an installation: modules, and what builds one, in lib/phased/.
noinst_DATA += lib/phased/source.stamp
lib/phased/source.stamp: daemon/slurm/build-slurm \
		$(nobase_dist_modulesource_DATA) $(nobase_nodist_modulesource_DATA)
	$(AM_V_at)rm -rf lib/phased/source && $(MKDIR_P) lib/phased && \
		cp $< lib/phased/build-slurm && \
		for file in $(nobase_dist_modulesource_DATA); do \
			$(MKDIR_P) "lib/phased/source/$${file%/*}" && \
			cp "$(srcdir)/$$file" "lib/phased/source/$$file" || exit 1; done && \
		cp daemon/slurm/interface.h lib/phased/source/daemon/slurm/ && touch $@
if HAVE_SLURM
$(SLURM_MODULE): lib/phased/source.stamp daemon/slurm/features.h
	$(AM_V_GEN)CC='$(CC)' CPPFLAGS='$(CPPFLAGS)' CFLAGS='$(AM_CFLAGS) $(CFLAGS)' \
		LDFLAGS='$(AM_LDFLAGS) $(LDFLAGS)' SLURM_PREFIX='$(SLURM_PREFIX)' \
		bash lib/phased/build-slurm module --source lib/phased/source --to lib/phased >/dev/null
endif
clean-local:
	rm -rf lib/phased
