/* A blocking HTTP/1.1 client for one peer, over a Unix socket or TCP. It keeps its connection
 * between requests. One thread at a time may use a client.
 *
 * With a secret (http_client_sign) every request carries a nonce and a code, and a reply without
 * the right code is refused, so that a false peer is never believed (lib/mac.h). */
#ifndef PHASED_LIB_HTTP_H
#define PHASED_LIB_HTTP_H

#include "lib/mac.h"

#include <stddef.h>

struct error;
struct http_client;

struct http_reply {
    int status;         /* of HTTP: 200, 404, ... */
    char *body;         /* NUL-terminated, never NULL */
    size_t body_size;   /* without the NUL */
    char mac[MAC_SIZE]; /* what the peer sent in Phased-MAC; empty when it did not */
};

void http_reply_fini(struct http_reply *reply);

/* Neither connects yet. `peer` names the other side in messages: "the daemon". A client is freed
 * by http_client_free(), which accepts NULL. */
struct http_client *http_client_new_unix(const char *peer, const char *socket_path);
struct http_client *http_client_new_tcp(const char *peer, const char *host, unsigned port);
void http_client_free(struct http_client *client);

/* How long to wait for a connection, and for the whole of one request with its reply (the latter
 * must be longer than the 25 s of a long poll). At first 5 s and 60 s. */
void http_client_set_timeouts(struct http_client *client, long connect_ms, long total_ms);

/* Signs every request from now on and accepts signed replies only. */
void http_client_sign(struct http_client *client, const struct mac_secret *secret);

/* Sends one request and waits for its reply, whatever its status: 404 is a reply, not a failure.
 * `path` holds the query too; `body` (JSON) may be NULL. The caller ends `ret_reply`.
 * Fails with -ECONNREFUSED, -ENOENT (no such socket), -ETIMEDOUT, -EHOSTUNREACH, -EFBIG (a reply
 * above 64 MiB), -EBADMSG (a reply whose code is wrong) or -EIO: "cannot reach the daemon at
 * /home/anna/.phased/phased.sock: connection refused". */
int http_request(struct http_client *client, const char *method, const char *path, const void *body,
                 size_t body_size, struct http_reply *ret_reply, struct error *err);

#endif
