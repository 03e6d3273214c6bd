/* Listening sockets, non-blocking and closed on exec. */
#ifndef PHASED_DAEMON_API_LISTEN_H
#define PHASED_DAEMON_API_LISTEN_H

struct error;
struct home;

/* Both return the descriptor. A socket that is there is replaced. */
int listen_unix(struct home *home, struct error *err);
/* On all interfaces, at a port that is free. */
int listen_tcp(unsigned *ret_port, struct error *err);
/* The name by which other hosts reach this one: `host`, or the host's name if it resolves, else
 * the loopback address. The caller's to free(). */
char *listen_host(const char *host);

#endif
