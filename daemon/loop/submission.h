/* From a run and what the record has of it to what the cluster is asked to submit. */
#ifndef PHASED_DAEMON_LOOP_SUBMISSION_H
#define PHASED_DAEMON_LOOP_SUBMISSION_H

#include "daemon/slurm/cluster.h"

struct error;
struct folder;
struct run;
struct store_launch;

struct submission {
    struct cluster_description description; /* points into the rest */
    char *name, *script, *output;
    const char **environment, **limits;
    char **owned; /* texts that the arrays and options point to; NULL-terminated */
    struct cluster_option *options;
};

/* `launch` and `folder` are borrowed for as long as the submission lives. `worker` is the path of
 * phase-worker. */
void submission_init(struct submission *submission, const struct run *run,
                     const struct folder *folder, const struct store_launch *launch,
                     const char *worker);
void submission_fini(struct submission *submission);

#endif
