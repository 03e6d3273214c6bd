/* The real cluster: Slurm, through libslurm.
 *
 * libslurm blocks for 9 to 18 s when the controller is away, and it is not made for threads. One
 * thread, started here, therefore makes all its calls. */
#ifndef PHASED_DAEMON_SLURM_SLURM_CLUSTER_H
#define PHASED_DAEMON_SLURM_SLURM_CLUSTER_H

struct cluster;
struct error;

struct slurm_cluster_config {
    /* The program phased itself: with `--check-slurm` it only reads Slurm's configuration. */
    const char *checker;
    const char *home; /* whose modules the checker uses; NULL: its own home */
    /* Both callbacks run on the Slurm thread and must not block; uv_async_send() is meant. `wake`
     * says that results wait. It may be called more often than needed. */
    void (*wake)(void *context);
    void *wake_context;
    /* The configuration has changed, and the checker could read it. Called once. No request is
     * answered any more, and a new process must take over: sites move controllers, and libslurm
     * reads its configuration only once. */
    void (*renew)(void *context);
    void *renew_context;
};

/* Checks that Slurm's configuration can be read (SLURM_CONF, or the site's default), then starts
 * the thread. The controller need not answer. Call it once in a process, before the process has
 * other threads. A broken configuration ends the process that reads it, so the checker reads it
 * first. Returns -ENOENT if there is no configuration, and -EINVAL, with Slurm's own words, if
 * Slurm cannot use it. */
int slurm_cluster_new(const struct slurm_cluster_config *config, struct cluster **ret_cluster,
                      struct error *err);

#endif
