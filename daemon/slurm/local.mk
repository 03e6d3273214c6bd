# daemon/slurm: the batch system behind struct cluster; the only includer of slurm/*.h.
noinst_LIBRARIES += daemon/slurm/libcluster.a
daemon_slurm_libcluster_a_SOURCES = \
	daemon/slurm/cluster.c daemon/slurm/cluster.h \
	daemon/slurm/slurm_cluster.h
