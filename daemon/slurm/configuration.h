/* Slurm's configuration: whether it can be used, and whether it has changed.
 *
 * libslurm ends the process when it cannot use it, after trying for up to a minute; a daemon wants
 * to say what is wrong instead. And libslurm reads it once in a process: since 24.05 slurm_fini()
 * and slurm_init() again is a crash. So whatever reads it anew is a new process. */
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

/* All zero where there is no file to be seen, or `file` is NULL. */
struct configuration_version configuration_version(const char *file);
bool configuration_version_equal(const struct configuration_version *a,
                                 const struct configuration_version *b);

/* Lets `checker --check-slurm` read the configuration. Returns -ENOENT when SLURM_CONF names no
 * readable file, -EINVAL with Slurm's own words when the checker fails, -ETIMEDOUT when it does not
 * end. */
int configuration_check(const char *checker, struct error *err);

/* Reads the configuration for this process, or ends it with Slurm's words on standard error.
 * Returns the file that was read, or NULL where the controller hands the configuration out. Call it
 * before there are threads: it restores the environment, which libslurm changes. */
char *configuration_read(void);

#endif
