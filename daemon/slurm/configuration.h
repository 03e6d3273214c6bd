/* Slurm's configuration: whether libslurm can use it, and whether it has changed.
 *
 * libslurm tries for up to a minute to use the configuration, and ends the process if it cannot. A
 * daemon must say what is wrong instead. libslurm also reads the configuration only once in a
 * process: since 24.05, slurm_fini() and a second slurm_init() crash. A changed configuration
 * therefore needs a new process. */
#ifndef PHASED_DAEMON_SLURM_CONFIGURATION_H
#define PHASED_DAEMON_SLURM_CONFIGURATION_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

struct error;

/* Identifies one version of slurm.conf. */
struct configuration_version {
    ino_t file;
    off_t size;
    struct timespec time;
};

/* All members are zero if the file is not visible, or if `file` is NULL. */
struct configuration_version configuration_version(const char *file);
bool configuration_version_equal(const struct configuration_version *a,
                                 const struct configuration_version *b);

/* Runs `checker --check-slurm`, which reads the configuration with a module of `home` (NULL: of its
 * own home). Returns -ENOENT if SLURM_CONF names no readable file, -EINVAL with Slurm's own words
 * if the checker fails, and -ETIMEDOUT if the checker does not end. */
int configuration_check(const char *checker, const char *home, struct error *err);

/* Reads the configuration for this process, or ends the process with Slurm's words on standard
 * error. Returns the file that was read, or NULL if the controller hands the configuration out.
 * Call it before the process has threads: it restores the environment, which libslurm changes. */
char *configuration_read(void);

#endif
