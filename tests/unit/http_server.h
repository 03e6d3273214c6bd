/* A small HTTP server for tests: one thread, any number of connections. A callback answers at once.
 * With a secret, the server checks and adds the codes of lib/mac.h. */
#ifndef PHASED_TESTS_UNIT_HTTP_SERVER_H
#define PHASED_TESTS_UNIT_HTTP_SERVER_H

#include "lib/mac.h"

#include <stdbool.h>
#include <stddef.h>

struct http_server;

/* Runs in the server's thread. Returns the body of the reply, which the server frees. May change
 * `ret_status` from 200. NULL: no answer at all. */
typedef char *http_server_answer(void *context, const char *method, const char *path,
                                 const char *body, int *ret_status);

struct http_server_options {
    const char *socket_path;         /* NULL: TCP on the loopback address */
    const struct mac_secret *secret; /* NULL: replies are not signed */
    bool signs_wrongly;              /* it signs with another secret */
    bool encrypts;                   /* it has a challenge, and encrypts its replies */
    bool alters;                     /* it changes the last byte of each signed reply */
    bool replays;                    /* it signs each reply for its first request, as a recording */
    http_server_answer *answer;
    void *context;
};

struct http_server *http_server_start(const struct http_server_options *options);
/* Closes all connections, and waits for the thread. */
void http_server_end(struct http_server *server);

unsigned http_server_port(const struct http_server *server);

/* How many connections and requests with the right code there were. Call it after the end, or while
 * no request is in progress. */
unsigned http_server_connections(const struct http_server *server);
unsigned http_server_right_codes(const struct http_server *server);

#endif
