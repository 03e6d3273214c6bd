# daemon/slurm: the batch system behind struct cluster; the only includer of slurm/*.h.
noinst_LIBRARIES += daemon/slurm/libcluster.a
daemon_slurm_libcluster_a_SOURCES = \
	daemon/slurm/answer.c daemon/slurm/answer.h \
	daemon/slurm/cluster.c daemon/slurm/cluster.h \
	daemon/slurm/configuration.c daemon/slurm/configuration.h \
	daemon/slurm/environment.c daemon/slurm/environment.h \
	daemon/slurm/partitions.c daemon/slurm/partitions.h \
	daemon/slurm/slurm_cluster.c daemon/slurm/slurm_cluster.h \
	daemon/slurm/submission.c daemon/slurm/submission.h \
	daemon/slurm/survey.c daemon/slurm/survey.h \
	daemon/slurm/surveyor.c daemon/slurm/surveyor.h \
	daemon/slurm/versions.h
EXTRA_DIST += daemon/slurm/README.md
