/* The meeting point of the ranks of a run. The agent of the first node picks an address and a free
 * port, and publishes them in RUN_DIR/rendezvous-<restarts>.json. The agents of the other nodes
 * wait for this file. The name has the number of restarts, so that a requeued job does not read the
 * file of its earlier life. */
#ifndef PHASED_WORKER_NODE_RENDEZVOUS_H
#define PHASED_WORKER_NODE_RENDEZVOUS_H

struct error;

struct rendezvous {
    char address[64]; /* numeric */
    unsigned port;
};

/* Picks a free port and an address: loopback for a run on one node, otherwise the address under
 * which other nodes know `node`. Another program may take the port before the ranks do; then the
 * ranks fail. */
int rendezvous_pick(const char *node, unsigned nodes, struct rendezvous *ret_rendezvous,
                    struct error *err);

/* Picks `count` different free ports of the loopback address. */
int rendezvous_pick_local(unsigned *ret_ports, unsigned count, struct error *err);

int rendezvous_publish(const struct rendezvous *rendezvous, const char *run_dir, unsigned restarts,
                       struct error *err);

/* -ENOENT: the file is not published yet. */
int rendezvous_read(const char *run_dir, unsigned restarts, struct rendezvous *ret_rendezvous,
                    struct error *err);

#endif
