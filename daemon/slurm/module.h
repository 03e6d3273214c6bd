/* The module that talks to Slurm: phased-slurm-RELEASE.so, which alone is linked to libslurm.
 *
 * libslurm's interface, and with it the name of its file, changes with each release. phased
 * therefore links no libslurm. It opens the module that fits the libslurm of the machine. */
#ifndef PHASED_DAEMON_SLURM_MODULE_H
#define PHASED_DAEMON_SLURM_MODULE_H

#include <stddef.h>

struct cluster;
struct error;
struct home;
struct slurm_cluster_config;

/* What a module exports, under the name `phased_slurm_module`. */
struct module_calls {
    /* Identifies the headers that phased and the module share (interface.h). This member comes
     * first in all versions of phased: a module with another interface is not used. */
    const char *interface;
    const char *release; /* of Slurm, by the headers that the module was built with: "24.11.5" */
    int (*cluster_new)(const struct slurm_cluster_config *config, struct cluster **ret_cluster,
                       struct error *err);
    char *(*configuration_read)(void);
};

#define MODULE_SYMBOL "phased_slurm_module"

struct module {
    const struct module_calls *calls; /* NULL: no module is open */
    char *path;                       /* of the module */
    char *library;                    /* the path of its libslurm; "" if it is unknown */
};

/* Opens the module that fits. Looks into the home (unless it is NULL or not safe) and into the
 * folder of phased's modules. A module fits if it was built for this phased and if its libslurm is
 * on the machine. If several fit, takes the release that `scontrol` has, then a module of the home,
 * then the newest. -ENOENT: no module fits; `err` says which Slurm and which modules there are, and
 * how to build a module. An open module stays open until the process ends. */
int module_open(const struct home *home, struct module *ret_module, struct error *err);

/* The same, with these folders, the most wanted first. */
int module_open_from(const char *const *folders, size_t count, struct module *ret_module,
                     struct error *err);

void module_fini(struct module *module); /* only frees the texts */

#endif
