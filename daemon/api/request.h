/* A request as server.c and request.c see it. */
#ifndef PHASED_DAEMON_API_REQUEST_H
#define PHASED_DAEMON_API_REQUEST_H

#include "daemon/api/server.h"

#include <microhttpd.h>
#include <sys/queue.h>

struct peer;

struct request {
    struct server *server;
    struct MHD_Connection *connection;
    struct peer *peer;
    char *target;
    const char *method, *path;
    bool has_begun, is_suspended, is_answered;
    void (*resume)(struct request *request); /* a suspended request has its reply */
    LIST_ENTRY(request) suspended;           /* in the server's list */

    unsigned status;
    char *reply;
    size_t reply_size;
    const char *type; /* NULL: JSON */
    char *header_name, *header_value;
    bool is_kept, is_signed, is_encrypted; /* the last two: the reply */
    struct mac_secret secret;
    char nonce[MAC_OWNER_NONCE_SIZE];
};

/* Encrypts and signs the reply, if request_sign() has asked for it. */
void request_finish_reply(struct request *request);

#endif
