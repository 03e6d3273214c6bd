/* The real cluster: Slurm, through libslurm.
 *
 * libslurm blocks, 9 to 18 s when the controller is away, and it is not made for threads: so one
 * thread, started here, makes all its calls. */
#ifndef PHASED_DAEMON_SLURM_SLURM_CLUSTER_H
#define PHASED_DAEMON_SLURM_SLURM_CLUSTER_H

struct cluster;
struct error;

struct slurm_cluster_config {
    /* Runs on the Slurm thread when results wait: it must not block, and may be called more often
     * than needed (uv_async_send() is meant). */
    void (*wake)(void *data);
    void *data;
};

/* Checks that Slurm's configuration can be read (SLURM_CONF, or the site's default), then starts
 * the thread. Needs no controller that answers. Call it before the process has other threads: a
 * broken configuration ends the process that reads it, so a child tries it first. Returns -ENOENT
 * when there is none and -EINVAL when Slurm cannot use it, in its own words. */
int slurm_cluster_new(const struct slurm_cluster_config *config, struct cluster **ret_cluster,
                      struct error *err);

#endif
