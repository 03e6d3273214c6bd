/* Whether Slurm's configuration can be used.
 *
 * libslurm ends the process when it cannot, after trying for up to a minute; a daemon wants to say
 * what is wrong instead. */
#ifndef PHASED_DAEMON_SLURM_CONFIGURATION_H
#define PHASED_DAEMON_SLURM_CONFIGURATION_H

struct error;

/* Lets a child process read the configuration. Returns -ENOENT when SLURM_CONF names no readable
 * file, -EINVAL with Slurm's own words when the child fails, -ETIMEDOUT when it does not end. */
int configuration_check(struct error *err);

#endif
