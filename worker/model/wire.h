/* Whole messages over a TCP connection, each with a deadline of clock_steady_ms(). Sockets are
 * non-blocking, and their owner closes them. */
#ifndef PHASED_WORKER_MODEL_WIRE_H
#define PHASED_WORKER_MODEL_WIRE_H

#include <stddef.h>
#include <stdint.h>

struct error;

/* Listens at the address. Returns the socket. */
int wire_listen(const char *address, const char *port, struct error *err);

/* Waits for a connection. Returns its socket, -ETIMEDOUT, or -EINTR if a stop was requested. */
int wire_accept(int listener, int64_t deadline_ms, struct error *err);

/* Connects, and tries again as long as nobody listens. Returns the same as wire_accept(). */
int wire_connect(const char *address, const char *port, int64_t deadline_ms, struct error *err);

/* Both functions transfer all bytes, or fail: with -ECONNRESET if the peer is gone, or with
 * -ETIMEDOUT. Messages call the other side `peer`. */
int wire_send(int fd, const void *data, size_t size, int64_t deadline_ms, const char *peer,
              struct error *err);
int wire_receive(int fd, void *data, size_t size, int64_t deadline_ms, const char *peer,
                 struct error *err);

#endif
