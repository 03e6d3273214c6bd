# daemon: phased itself.
include daemon/core/local.mk
include daemon/store/local.mk
include daemon/slurm/local.mk
include daemon/api/local.mk
include daemon/loop/local.mk
