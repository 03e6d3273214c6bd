/* What the module exports: the only file that phased itself does not link. */
#include "daemon/slurm/configuration.h"
#include "daemon/slurm/interface.h"
#include "daemon/slurm/module.h"
#include "daemon/slurm/slurm_cluster.h"
#include "daemon/slurm/versions.h"

extern const struct module_calls phased_slurm_module;

__attribute__((visibility("default"))) const struct module_calls phased_slurm_module = {
    .interface = CLUSTER_INTERFACE,
    .release = SLURM_RELEASE,
    .cluster_new = slurm_cluster_new,
    .configuration_read = configuration_read,
};
