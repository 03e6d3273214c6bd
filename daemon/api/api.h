/* The daemon's HTTP: doc/api.md for people over the Unix socket, doc/protocol.md for workers,
 * and for the owner on other hosts, over TCP. The API reads from the record. It posts every change
 * to the loop. */
#ifndef PHASED_DAEMON_API_API_H
#define PHASED_DAEMON_API_API_H

#include <stdint.h>
#include <uv.h>

struct api;
struct error;
struct home;
struct loop;

/* All members are borrowed. They must stay valid until the API is closed. */
struct api_config {
    uv_loop_t *uv;
    struct loop *loop;
    struct home *home;
    const char *host; /* the name by which workers reach this host; NULL: the host's own name, if it
                       * resolves */
    const char *job; /* the job of Slurm in which the daemon runs; NULL: it runs outside of Slurm */
    const char *version;
    int64_t started_ms;
};

/* Listens on all sockets and writes daemon.json. A stale Unix socket is replaced: the caller holds
 * the lock of the home. */
int api_open(const struct api_config *config, struct api **ret_api, struct error *err);
/* Answers all waiting requests and closes the API. The loop calls `closed`. Call api_close() before
 * the loop ends: the loop must not commit while the API closes. */
void api_close(struct api *api, void (*closed)(void *context), void *context);

#endif
