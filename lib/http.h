/* A blocking HTTP/1.1 client for one peer, over a Unix socket, TCP or a URL. It keeps its
 * connection between requests. One thread at a time may use a client.
 *
 * With a secret (http_client_sign) every request carries a nonce and a code. A reply without the
 * right code is refused, so that a false peer is never believed (lib/mac.h). With the key of a home
 * (http_client_encrypt) bodies are encrypted too, and the daemon takes no request twice. */
#ifndef PHASED_LIB_HTTP_H
#define PHASED_LIB_HTTP_H

#include "lib/mac.h"

#include <stddef.h>

struct error;
struct http_client;

struct http_reply {
    int status;         /* HTTP's status: 200, 404, ... */
    char *body;         /* NUL-terminated, never NULL */
    size_t body_size;   /* without the NUL */
    char mac[MAC_SIZE]; /* the peer's Phased-MAC; empty if the reply had no such header */
};

void http_reply_fini(struct http_reply *reply);

/* These functions make a client and do not connect yet. Messages call the other side `peer`: "the
 * daemon". http_client_free() frees a client and accepts NULL. */
struct http_client *http_client_new_unix(const char *peer, const char *socket_path);
struct http_client *http_client_new_tcp(const char *peer, const char *host, unsigned port);
/* For a server that is not phased's: http:// or https://. Paths are appended to the URL. The
 * environment names the proxy; the other clients use no proxy. */
struct http_client *http_client_new_url(const char *peer, const char *url);
void http_client_free(struct http_client *client);

/* The address of the peer for messages. The address of a URL has no user, password or query. */
const char *http_client_address(const struct http_client *client);

/* Sets how long to wait for a connection, and for one whole request with its reply. `total_ms` must
 * be longer than the 25 s of a long poll. 0: the defaults, which are 5 s and 60 s. */
void http_client_set_timeouts(struct http_client *client, long connect_ms, long total_ms);

/* Adds a header to every request from now on. Neither text may have control characters. */
void http_client_add_header(struct http_client *client, const char *name, const char *value);

/* Signs every request from now on and accepts signed replies only. */
void http_client_sign(struct http_client *client, const struct mac_secret *secret);
/* Signs and encrypts every request from now on, as the TCP port of the daemon wants it from the
 * owner of its home. `key` is the key of the home. */
void http_client_encrypt(struct http_client *client, const struct mac_secret *key);

/* Sends one request and waits for its reply. A reply with any status is a success, such as 404.
 * `path` includes the query. `body` (JSON) may be NULL. The caller frees the content of
 * `ret_reply`. Fails with -ECONNREFUSED, -ENOENT (no such socket), -ETIMEDOUT, -EHOSTUNREACH,
 * -EFBIG (a reply above 64 MiB), -EBADMSG (a reply whose code is wrong), -EACCES (the daemon does
 * not take the key) or -EIO: "cannot reach the daemon at /home/anna/.phased/phased.sock: connection
 * refused". */
int http_request(struct http_client *client, const char *method, const char *path, const void *body,
                 size_t body_size, struct http_reply *ret_reply, struct error *err);

#endif
