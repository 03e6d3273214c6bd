/* The environment of a batch script, as sbatch would make it.
 *
 * A job that is submitted through libslurm gets what its description says and nothing else: without
 * this it has no SLURM_SUBMIT_DIR, and the controller's umask and limits instead of the user's. */
#ifndef PHASED_DAEMON_SLURM_ENVIRONMENT_H
#define PHASED_DAEMON_SLURM_ENVIRONMENT_H

#include <stdint.h>

struct cluster_description;

/* NULL-terminated, `ret_count` strings; environment_free() frees them. */
char **environment_new(const struct cluster_description *description, uint32_t *ret_count);
void environment_free(char **environment);

#endif
