/* The real cluster: Slurm, through libslurm.
 *
 * libslurm blocks, 9 to 18 s when the controller is away, and it is not made for threads: so one
 * thread, started here, makes all its calls. */
#ifndef PHASED_DAEMON_SLURM_SLURM_CLUSTER_H
#define PHASED_DAEMON_SLURM_SLURM_CLUSTER_H

struct cluster;
struct error;

struct slurm_cluster_config {
    /* phased itself, which `--check-slurm` makes read Slurm's configuration and no more. */
    const char *checker;
    /* These run on the Slurm thread and must not block (uv_async_send() is meant).
     * Results wait; it may be called more often than needed. */
    void (*wake)(void *wake_data);
    void *wake_data;
    /* The configuration has changed, and the checker has read it. Called once: no request is
     * answered any more, and a new process has to take over. Sites move controllers, and libslurm
     * reads its configuration only once. */
    void (*renew)(void *renew_data);
    void *renew_data;
};

/* Checks that Slurm's configuration can be read (SLURM_CONF, or the site's default), then starts
 * the thread. Needs no controller that answers. Call it once in a process, before it has other
 * threads: a broken configuration ends the process that reads it, so the checker tries it first.
 * Returns -ENOENT when there is none and -EINVAL when Slurm cannot use it, in its own words. */
int slurm_cluster_new(const struct slurm_cluster_config *config, struct cluster **ret_cluster,
                      struct error *err);

#endif
