/* The environment of a batch script, as sbatch would make it.
 *
 * A job that is submitted through libslurm gets only what its description says. Without this file
 * the job has no SLURM_SUBMIT_DIR, and it has the controller's umask and limits instead of the
 * user's. */
#ifndef PHASED_DAEMON_SLURM_ENVIRONMENT_H
#define PHASED_DAEMON_SLURM_ENVIRONMENT_H

#include <stdint.h>

struct cluster_description;

/* Returns `ret_count` strings, NULL-terminated. The caller frees them with environment_free(). */
char **environment_new(const struct cluster_description *description, uint32_t *ret_count);
void environment_free(char **environment);

#endif
