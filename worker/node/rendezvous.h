/* Where the ranks of a run meet: the first node's agent picks an address and a free port and
 * publishes them in RUN_DIR/rendezvous-<restarts>.json; the agents of other nodes wait for it. The
 * restart count in the name keeps a requeued job from reading what an earlier life published. */
#ifndef PHASED_WORKER_NODE_RENDEZVOUS_H
#define PHASED_WORKER_NODE_RENDEZVOUS_H

struct error;

struct rendezvous {
    char address[64]; /* numeric */
    unsigned port;
};

/* Picks a free port, and the loopback address for a run on one node, else the address under which
 * other nodes know the one called `node`. The port is free now; who takes it is seen when the
 * program fails to. */
int rendezvous_pick(const char *node, unsigned nodes, struct rendezvous *ret_rendezvous,
                    struct error *err);

/* Picks `count` free ports of the loopback address, no two the same. */
int rendezvous_pick_local(unsigned *ret_ports, unsigned count, struct error *err);

int rendezvous_publish(const struct rendezvous *rendezvous, const char *run_dir, unsigned restarts,
                       struct error *err);

/* -ENOENT: not published yet. */
int rendezvous_read(const char *run_dir, unsigned restarts, struct rendezvous *ret_rendezvous,
                    struct error *err);

#endif
