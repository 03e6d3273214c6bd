/* An HTTP/1.1 server inside the libuv loop: libmicrohttpd on one listening socket.
 *
 * The server calls the handler when the whole body has arrived. The handler answers by exactly one
 * of the request_reply functions. It answers at once, or later from the loop's thread: for a long
 * poll, or after a commit. The request stays valid until the answer, even if its client has gone.
 * It must not be used after the answer. Requests on one connection are handled one after another,
 * as HTTP requires. */
#ifndef PHASED_DAEMON_API_SERVER_H
#define PHASED_DAEMON_API_SERVER_H

#include "lib/mac.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct error;
struct request;
struct server;
struct text;

/* Why a request was refused: the `code` of the API's errors, and the HTTP status. */
#define API_ERRORS(X)                                                                              \
    X(BAD_REQUEST, "bad_request", 400)                                                             \
    X(UNKNOWN_CLIENT, "forbidden", 401)                                                            \
    X(BAD_SPEC, "bad_spec", 422)                                                                   \
    X(FORBIDDEN, "forbidden", 403)                                                                 \
    X(NOT_FOUND, "not_found", 404)                                                                 \
    X(BAD_METHOD, "bad_request", 405)                                                              \
    X(CONFLICT, "conflict", 409)                                                                   \
    X(TOO_LARGE, "bad_request", 413)                                                               \
    X(INTERNAL, "internal", 500)                                                                   \
    X(UNAVAILABLE, "unavailable", 503)

enum api_error {
#define X(symbol, code, status) API_##symbol,
    API_ERRORS(X)
#undef X
};

struct server_config {
    uv_loop_t *uv;
    int listen_fd;                   /* non-blocking; the server owns it once it is open */
    size_t body_max;                 /* bytes; a larger body is answered with 413 */
    unsigned connections_max;        /* further connections wait in the socket's backlog */
    bool owner_only;                 /* only for the user of this process (Unix sockets) */
    const char *const (*headers)[2]; /* of each reply, {name, value} up to NULL; or NULL */
    /* Used if `owner_only` is false: checks a header, and refuses a request before its body. */
    void (*admit)(struct request *request, void *context);
    void (*handle)(struct request *request, void *context);
    void *context;
};

int server_open(const struct server_config *config, struct server **ret_server, struct error *err);
/* Answers all waiting requests with 503, closes all connections, then calls `closed` from the loop.
 * The caller must not use the server after this call. */
void server_close(struct server *server, void (*closed)(void *context), void *context);

/* --- The request ------------------------------------------------------------------------------ */

const char *request_method(const struct request *request);
/* The path without the query, decoded. */
const char *request_path(const struct request *request);
/* Path and query of the request line, as sent. */
const char *request_target(const struct request *request);
/* The first argument of this name in the query, decoded; NULL if absent. */
const char *request_query(const struct request *request, const char *name);
/* Puts the arguments of this name into `values`, at most `max`. Returns the number of values. */
size_t request_query_all(const struct request *request, const char *name, const char **values,
                         size_t max);
const char *request_header(const struct request *request, const char *name);
const char *request_body(const struct request *request, size_t *ret_size);

/* Marks the client as known: its connection may stay open. The connection of a stranger is closed
 * after a reply, or when its time is up (peers.h). With `owner_only` the owner needs no proof. */
void request_prove(struct request *request);
/* The connection of a stranger stays open after the reply, until the stranger's time is up. */
void request_keep(struct request *request);

/* The challenge of a connection, which the owner of the home must answer over TCP: the nonce of a
 * request is the text, and a number greater than `count`. */
struct challenge {
    char text[MAC_CHALLENGE_SIZE]; /* empty: the connection has no challenge yet */
    uint32_t count;                /* the number of the last request */
};
struct challenge *request_challenge(struct request *request);
/* Puts another body in place of the one that came, and frees it with free(). Only for a client that
 * has proven itself. */
void request_replace_body(struct request *request, char *body, size_t size);

/* --- The reply -------------------------------------------------------------------------------- */

/* Adds a header to the reply. A request can have one. */
void request_set_header(struct request *request, const char *name, const char *value);
/* The reply to this request will carry a code under the secret (lib/mac.h), and its body will be
 * encrypted if `is_encrypted`. `nonce` is the nonce of the request. */
void request_sign(struct request *request, const struct mac_secret *secret, const char *nonce,
                  bool is_encrypted);
/* Sets the media type of a body that is not JSON. The string must be static. */
void request_set_type(struct request *request, const char *type);
/* Sends `body`, and frees it with free(). */
void request_reply_take(struct request *request, unsigned status, char *body, size_t size);
/* Adds `json` in the API's form, and takes the reference. */
void reply_add_json(struct text *text, json_t *json);
/* Takes the reference to `json`. */
void request_reply_json(struct request *request, unsigned status, json_t *json);
/* {"error": {"code", "message", "where"}}; `where` may be NULL. */
void request_reply_error(struct request *request, enum api_error error, const char *where,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Refuses a workflow whose `problems` are a list. */
void request_reply_bad_spec(struct request *request, const char *message, json_t *problems);

#endif
