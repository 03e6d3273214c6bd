/* The daemon's HTTP: doc/api.md for people over the Unix socket, doc/protocol.md for workers over
 * TCP. It reads from the record, and posts to the loop what shall change. */
#ifndef PHASED_DAEMON_API_API_H
#define PHASED_DAEMON_API_API_H

#include <stdint.h>
#include <uv.h>

struct api;
struct error;
struct home;
struct loop;

/* All borrowed, and needed until the API is closed. */
struct api_config {
    uv_loop_t *uv;
    struct loop *loop;
    struct home *home;
    const char
        *host; /* by which workers reach this host; NULL: its own name, if it has an address */
    const char *version;
    int64_t started_ms;
};

/* Listens on both, a stale socket is replaced (the caller holds the home's lock), and writes
 * daemon.json. */
int api_open(const struct api_config *config, struct api **ret_api, struct error *err);
/* Answers what waits, and closes; `closed` is called from the loop. To be called before the loop's
 * own end: nothing may be committed while it closes. */
void api_close(struct api *api, void (*closed)(void *arg), void *arg);

#endif
