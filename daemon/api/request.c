/* The request as handlers read it, and the reply that they give. */
#include "daemon/api/request.h"

#include "daemon/api/peers.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <assert.h>
#include <stdlib.h>

/* --- The request ------------------------------------------------------------------------------ */

const char *request_method(const struct request *request)
{
    return request->method;
}

const char *request_path(const struct request *request)
{
    return request->path;
}

const char *request_target(const struct request *request)
{
    return request->target;
}

const char *request_query(const struct request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

struct query_all {
    const char *name;
    const char **values;
    size_t count, max;
};

static enum MHD_Result query_visit(void *context, enum MHD_ValueKind kind, const char *key,
                                   const char *value)
{
    (void)kind;
    struct query_all *query = context;
    if (text_equal(key, query->name) && value && query->count < query->max)
        query->values[query->count++] = value;
    return MHD_YES;
}

size_t request_query_all(const struct request *request, const char *name, const char **values,
                         size_t max)
{
    struct query_all query = {.name = name, .values = values, .max = max};
    (void)MHD_get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, query_visit,
                                    &query); /* the number of all arguments is not needed */
    return query.count;
}

const char *request_header(const struct request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

const char *request_body(const struct request *request, size_t *ret_size)
{
    *ret_size = request->peer->body.size;
    return text_string(&request->peer->body);
}

void request_prove(struct request *request)
{
    peer_prove(request->peer);
}

void request_keep(struct request *request)
{
    request->is_kept = true;
}

struct challenge *request_challenge(struct request *request)
{
    return &request->peer->challenge;
}

void request_replace_body(struct request *request, char *body, size_t size)
{
    assert(!request->peer->is_stranger);
    text_fini(&request->peer->body);
    text_add_bytes(&request->peer->body, body, size);
    free(body);
}

/* --- The reply -------------------------------------------------------------------------------- */

void request_set_header(struct request *request, const char *name, const char *value)
{
    assert(!request->header_name);
    request->header_name = xstrdup(name);
    request->header_value = xstrdup(value);
}

void request_sign(struct request *request, const struct mac_secret *secret, const char *nonce,
                  bool is_encrypted)
{
    request->is_signed = true;
    request->is_encrypted = is_encrypted;
    request->secret = *secret;
    (void)snprintf(request->nonce, sizeof request->nonce, "%s", nonce); /* fits */
}

void request_finish_reply(struct request *request)
{
    char mac[MAC_SIZE];
    if (!request->is_signed)
        return;
    if (request->is_encrypted) {
        size_t size;
        char *encrypted = mac_encrypt(&request->secret, request->reply, request->reply_size, &size);
        free(request->reply);
        request->reply = encrypted;
        request->reply_size = size;
    }
    mac_reply(&request->secret, request->nonce, (int)request->status, request->reply,
              request->reply_size, mac);
    request_set_header(request, MAC_HEADER, mac);
}

void request_set_type(struct request *request, const char *type)
{
    request->type = type;
}

void request_reply_take(struct request *request, unsigned status, char *body, size_t size)
{
    assert(!request->is_answered);
    request->is_answered = true;
    request->status = status;
    request->reply = body;
    request->reply_size = size;
    if (request->is_suspended)
        request->resume(request);
}
