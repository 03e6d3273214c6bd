/* Listening sockets. They are non-blocking and closed on exec. */
#ifndef PHASED_DAEMON_API_LISTEN_H
#define PHASED_DAEMON_API_LISTEN_H

struct error;
struct home;

/* The first three functions return the descriptor. listen_unix() replaces an existing socket. */
int listen_unix(struct home *home, struct error *err);
/* Listens on all interfaces, on a free port. */
int listen_tcp(unsigned *ret_port, struct error *err);
/* Listens on 127.0.0.1, on this port if it is free, else on a free one. */
int listen_loopback(unsigned *port, struct error *err);
/* Returns the name by which other hosts reach this host: `host` if given, the host's own name if it
 * resolves, or else the loopback address. The caller frees it. */
char *listen_host(const char *host);

#endif
