/* From a run and what the record has of it to what the cluster is asked to submit. */
#ifndef PHASED_DAEMON_LOOP_JOB_ORDER_H
#define PHASED_DAEMON_LOOP_JOB_ORDER_H

#include "daemon/slurm/cluster.h"

struct error;
struct folder;
struct allocation;
struct run;
struct store_launch;

struct job_order {
    struct cluster_description description; /* points into the rest */
    char *name, *script, *output;
    const char **environment, **limits;
    char **owned; /* texts that the arrays and options point to; NULL-terminated */
    struct cluster_option *options;
};

/* `launch` and `folder` are borrowed for as long as the order lives. `worker` is the path of
 * phase-worker. `excluded` are nodes that it leaves out besides those the spec does, with commas
 * between; NULL: none. */
void job_order_init(struct job_order *order, const struct run *run, const struct allocation *job,
                    const struct folder *folder, const struct store_launch *launch,
                    const char *worker, const char *excluded);
void job_order_fini(struct job_order *order);

#endif
