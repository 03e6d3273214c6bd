/* limits.yaml in a home: how much of the cluster all workflows together may use.
 *
 *   jobs: 12                            # in Slurm at the same time, waiting or running
 *   running_jobs: 4                     # that may run at the same time
 *   gpus: 64                            # that these jobs may have
 *   month: {usd: 5000, gpu_hours: 2000} # for runs that began in this month
 *
 * A job that waits in Slurm may start at any moment, so `running_jobs` also bounds the waiting
 * jobs. The first two differ for phases with a choice of GPUs: such a phase has several jobs in
 * Slurm, and only one of them runs. */
#ifndef PHASED_LIB_SPEC_QUEUE_LIMITS_H
#define PHASED_LIB_SPEC_QUEUE_LIMITS_H

#include "lib/spec/problems.h"

#include <stddef.h>

#include <jansson.h>

enum {
    QUEUE_LIMITS_FILE_MAX = 64 * 1024,
    QUEUE_PRIORITY_MAX = 1000000, /* of a workflow; the least is the negative of this number */
};

/* Returns the limits of the file, a new reference. The object is empty if the file has no limits.
 * NULL, with problems, if the file cannot be read; then the limits are unknown. */
json_t *queue_limits_read(const char *data, size_t size, struct spec_problems *problems);

/* Like queue_limits_read(), for the file at `path`. A missing file has no limits. Negative: the
 * file could not be read, and nothing is known about what it says. Then, and if the text has
 * problems, `*ret_limits` is NULL. */
int queue_limits_load(const char *path, struct spec_problems *problems, json_t **ret_limits);

#endif
