/* The connections of a server, with limits for clients that have not proven who they are.
 *
 * A connection is a stranger until peer_prove(). A stranger must prove itself within
 * PEERS_STRANGER_MS, however many requests it sends. If there are too many strangers, or if their
 * bodies together are too large, the oldest stranger is dropped. Workers prove themselves at once,
 * so a flood of strangers delays no worker for long. One address may have at most half of all
 * strangers, so that other hosts still get through. */
#ifndef PHASED_DAEMON_API_PEERS_H
#define PHASED_DAEMON_API_PEERS_H

#include "daemon/api/server.h"
#include "lib/text.h"

#include <stdint.h>
#include <sys/socket.h>

enum {
    PEERS_STRANGERS_MAX = 1024, /* on one server */
    PEERS_STRANGER_MS = 10000,  /* from accept to the proof */
    /* Bytes of all strangers' bodies together. A worker sends less before its first answer. */
    PEERS_BODIES_MAX = PEERS_STRANGERS_MAX * 16 * 1024
};

struct peers {
    unsigned strangers_max, stranger_count;
    size_t body_bytes;         /* received from all strangers */
    struct peer *first, *last; /* strangers, in the order of arrival */
};

struct peer {
    struct peers *peers;
    struct peer *previous, *next; /* in the list of strangers */
    int fd;
    unsigned char address[16]; /* as IPv6, or zeros */
    int64_t came_ms;
    bool is_stranger, is_dropped;
    struct challenge challenge;
    struct text body; /* of the request that is being received */
};

/* Adds a stranger. May drop older strangers. `address` may be NULL. */
struct peer *peer_new(struct peers *peers, int fd, const struct sockaddr *address, int64_t now_ms);
/* Called when the connection has ended. */
void peer_free(struct peer *peer);

void peer_prove(struct peer *peer);
/* Adds bytes to the body of the current request. May drop older strangers. False: this peer was
 * dropped. */
bool peer_add(struct peer *peer, const void *bytes, size_t size);
/* Empties the body at the end of a request. */
void peer_clear(struct peer *peer);

/* Drops the strangers whose time is up, by shutting their sockets down. Returns how many were
 * dropped. */
unsigned peers_drop_late(struct peers *peers, int64_t now_ms);
/* Milliseconds until the time of the next stranger is up; -1: there is no stranger. */
int64_t peers_wait_ms(const struct peers *peers, int64_t now_ms);

#endif
