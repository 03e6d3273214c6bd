/* limits.yaml of a home: how much of the cluster its workflows may have together.
 *
 *   jobs: 12                            # in Slurm at the same time, waiting or running
 *   running_jobs: 4                     # that may run at the same time
 *   gpus: 64                            # that these may have
 *   month: {usd: 5000, gpu_hours: 2000} # of runs that began in this month
 *
 * Whoever waits in Slurm may run at any moment, so that only what is not there yet is sure not to
 * run. Hence the second bounds what is in Slurm, too; they differ for phases that leave Slurm the
 * choice between GPUs, of whose jobs only one will run. */
#ifndef PHASED_LIB_SPEC_QUEUE_LIMITS_H
#define PHASED_LIB_SPEC_QUEUE_LIMITS_H

#include "lib/spec/problems.h"

#include <stddef.h>

#include <jansson.h>

enum { QUEUE_LIMITS_FILE_MAX = 64 * 1024 };

/* The members that are said, the caller's; empty when there are none. NULL with problems when
 * something is wrong: limits that cannot be read must not be taken for none. */
json_t *queue_limits_read(const char *data, size_t size, struct spec_problems *problems);

/* The same of the file at `path`; one that is not there has no limits. */
json_t *queue_limits_load(const char *path, struct spec_problems *problems);

#endif
