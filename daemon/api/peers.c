/* The list of strangers, the oldest first. */
#include "daemon/api/peers.h"

#include "lib/memory.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

static void peer_unlink(struct peer *peer)
{
    struct peers *peers = peer->peers;
    if (!peer->is_stranger)
        return;
    *(peer->previous ? &peer->previous->next : &peers->first) = peer->next;
    *(peer->next ? &peer->next->previous : &peers->last) = peer->previous;
    peers->stranger_count--;
    peers->body_bytes -= peer->body.size;
    peer->is_stranger = false;
}

/* Shuts the socket down. The server then sees the end of the connection and calls peer_free(). */
static void peer_drop(struct peer *peer)
{
    peer_unlink(peer);
    peer->is_dropped = true;
    text_fini(&peer->body);
    (void)shutdown(peer->fd, SHUT_RDWR); /* fails if the client has already closed it */
}

/* Makes room for one more stranger from this address. If needed, drops the oldest stranger of this
 * address, or the oldest of all. */
static void peers_make_room(struct peers *peers, const unsigned char address[16])
{
    struct peer *oldest = NULL;
    unsigned count = 0;
    for (struct peer *peer = peers->last; peer; peer = peer->previous) {
        if (memcmp(peer->address, address, sizeof peer->address) != 0)
            continue;
        oldest = peer;
        count++;
    }
    if (oldest && count >= (peers->strangers_max + 1) / 2)
        peer_drop(oldest);
    else if (peers->first && peers->stranger_count >= peers->strangers_max)
        peer_drop(peers->first);
}

struct peer *peer_new(struct peers *peers, int fd, const struct sockaddr *address, int64_t now_ms)
{
    struct peer *peer = xcalloc(1, sizeof *peer);
    *peer = (struct peer){.peers = peers, .fd = fd, .came_ms = now_ms, .is_stranger = true};
    if (address && address->sa_family == AF_INET6)
        memcpy(peer->address, &((const struct sockaddr_in6 *)address)->sin6_addr, 16);
    else if (address && address->sa_family == AF_INET)
        memcpy(peer->address, &((const struct sockaddr_in *)address)->sin_addr, 4);
    peers_make_room(peers, peer->address);
    peer->previous = peers->last;
    *(peers->last ? &peers->last->next : &peers->first) = peer;
    peers->last = peer;
    peers->stranger_count++;
    return peer;
}

void peer_free(struct peer *peer)
{
    peer_unlink(peer);
    text_fini(&peer->body);
    free(peer);
}

void peer_prove(struct peer *peer)
{
    if (!peer->is_dropped)
        peer_unlink(peer);
}

bool peer_add(struct peer *peer, const void *bytes, size_t size)
{
    struct peers *peers = peer->peers;
    if (peer->is_dropped)
        return false;
    text_add_bytes(&peer->body, bytes, size);
    peers->body_bytes += peer->is_stranger ? size : 0;
    while (peers->body_bytes > PEERS_BODIES_MAX) {
        struct peer *oldest = peers->first;
        while (oldest->body.size == 0)
            oldest = oldest->next;
        peer_drop(oldest);
    }
    return !peer->is_dropped;
}

void peer_clear(struct peer *peer)
{
    if (peer->is_stranger)
        peer->peers->body_bytes -= peer->body.size;
    text_fini(&peer->body);
}

unsigned peers_drop_late(struct peers *peers, int64_t now_ms)
{
    unsigned count = 0;
    for (; peers->first && now_ms - peers->first->came_ms >= PEERS_STRANGER_MS; count++)
        peer_drop(peers->first);
    return count;
}

int64_t peers_wait_ms(const struct peers *peers, int64_t now_ms)
{
    int64_t due_ms = peers->first ? peers->first->came_ms + PEERS_STRANGER_MS : now_ms - 1;
    return due_ms > now_ms || !peers->first ? due_ms - now_ms : 0;
}
