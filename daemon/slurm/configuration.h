/* Whether Slurm's configuration can be used.
 *
 * libslurm ends the process when it cannot, after trying for up to a minute; a daemon wants to say
 * what is wrong instead. */
#ifndef PHASED_DAEMON_SLURM_CONFIGURATION_H
#define PHASED_DAEMON_SLURM_CONFIGURATION_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

struct error;

/* Tells one version of slurm.conf from the next. */
struct configuration_version {
    ino_t file;
    off_t size;
    struct timespec time;
};

/* All zero where there is no file to be seen: a site may hand its configuration out otherwise. */
struct configuration_version configuration_version(void);
bool configuration_version_equal(const struct configuration_version *a,
                                 const struct configuration_version *b);

/* Lets a child process read the configuration. Returns -ENOENT when SLURM_CONF names no readable
 * file, -EINVAL with Slurm's own words when the child fails, -ETIMEDOUT when it does not end. */
int configuration_check(struct error *err);

#endif
