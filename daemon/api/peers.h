/* The connections of a server, of which those that have not proven who they are may neither stay
 * nor take much.
 *
 * A connection is a stranger's until peer_prove(). A stranger has PEERS_STRANGER_MS for all that
 * proves it, however it divides its bytes. Where there are too many strangers, or their bodies are
 * too large together, the one that came first is dropped: those that prove themselves do so at
 * once, so that a flood delays nobody for long. Of one address there may be half as many as of all:
 * what comes from another host has room. */
#ifndef PHASED_DAEMON_API_PEERS_H
#define PHASED_DAEMON_API_PEERS_H

#include "lib/text.h"

#include <stdint.h>
#include <sys/socket.h>

enum {
    PEERS_STRANGERS_MAX = 1024, /* on one server */
    PEERS_STRANGER_MS = 10000,  /* from accept to the proof */
    /* Bytes of strangers' bodies, all together: a worker that was not answered sends less. */
    PEERS_BODIES_MAX = PEERS_STRANGERS_MAX * 16 * 1024
};

struct peers {
    unsigned strangers_max, stranger_count;
    size_t body_bytes;         /* that strangers have sent */
    struct peer *first, *last; /* strangers, in the order in which they came */
};

struct peer {
    struct peers *peers;
    struct peer *previous, *next; /* among strangers */
    int fd;
    unsigned char address[16]; /* IPv6's, or zeros */
    int64_t came_ms;
    bool is_stranger, is_dropped;
    struct text body; /* of the request that is being received */
};

/* A new stranger; others may be dropped for it. `address` may be NULL. */
struct peer *peer_new(struct peers *peers, int fd, const struct sockaddr *address, int64_t now_ms);
/* When its connection has ended. */
void peer_free(struct peer *peer);

void peer_prove(struct peer *peer);
/* Adds to its body; others may be dropped for it. False: it was dropped itself. */
bool peer_add(struct peer *peer, const void *bytes, size_t size);
/* Empties the body: the request is over. */
void peer_clear(struct peer *peer);

/* Drops those whose time is up: their sockets are shut down, and the server sees them end. Returns
 * how many. */
unsigned peers_drop_late(struct peers *peers, int64_t now_ms);
/* In how many milliseconds the next one's time is up; -1: there is none. */
int64_t peers_wait_ms(const struct peers *peers, int64_t now_ms);

#endif
