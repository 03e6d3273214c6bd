/* Whole messages over a TCP connection, each with a deadline. Sockets are non-blocking; their
 * owner closes them. */
#ifndef PHASED_WORKER_MODEL_WIRE_H
#define PHASED_WORKER_MODEL_WIRE_H

#include <stddef.h>
#include <stdint.h>

struct error;

/* Milliseconds of a clock that only goes forward. */
int64_t wire_now_ms(void);

/* Listens at the address; returns the socket. */
int wire_listen(const char *address, const char *port, struct error *err);

/* Waits for a connection; returns its socket, -ETIMEDOUT, or -EINTR when a stop was asked for. */
int wire_accept(int listener, int64_t deadline_ms, struct error *err);

/* Connects, and tries again while there is nobody; returns as wire_accept(). */
int wire_connect(const char *address, const char *port, int64_t deadline_ms, struct error *err);

/* All bytes or a failure: -ECONNRESET when the peer is gone, -ETIMEDOUT. `peer` names it. */
int wire_send(int fd, const void *data, size_t size, int64_t deadline_ms, const char *peer,
              struct error *err);
int wire_receive(int fd, void *data, size_t size, int64_t deadline_ms, const char *peer,
                 struct error *err);

#endif
