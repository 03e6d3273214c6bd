/* Requests of workers. Each request must carry a code made with the secret of its run. The reply to
 * a request with a right code carries a code as well. */
#include "daemon/api/api_private.h"

#include "daemon/ingest/ingest.h"
#include "daemon/loop/loop.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/protocol/journal_push.h"

#include <errno.h>
#include <stdlib.h>

static bool worker_secret(const struct call *call, struct mac_secret *ret_secret)
{
    const char *nonce = request_header(call->request, MAC_NONCE_HEADER);
    const char *mac = request_header(call->request, MAC_HEADER);
    char secret[MAC_SECRET_SIZE];
    return nonce && mac_is_hex(nonce, MAC_NONCE_SIZE - 1) && mac && mac_is_hex(mac, MAC_SIZE - 1) &&
           store_secret(loop_store(call->api->config.loop), call->run, secret, NULL) == 0 &&
           mac_secret_parse(secret, ret_secret, NULL) == 0;
}

static void worker_forbid(struct request *request)
{
    request_reply_error(request, API_FORBIDDEN, NULL, "not signed by the secret of this run");
}

void worker_look(struct call *call)
{
    struct mac_secret secret;
    if (!worker_secret(call, &secret))
        worker_forbid(call->request);
}

/* Checks the code of a request. False: the request was refused, with a reply that gives nothing
 * away. */
static bool worker_admit(const struct call *call)
{
    struct request *request = call->request;
    const char *nonce = request_header(request, MAC_NONCE_HEADER);
    struct mac_secret secret;
    char expected[MAC_SIZE];
    size_t size;
    const char *body = request_body(request, &size);
    if (!worker_secret(call, &secret))
        goto refused;
    mac_request(&secret, request_method(request), request_target(request), nonce, body, size,
                expected);
    if (!mac_equal(request_header(request, MAC_HEADER), expected))
        goto refused;
    request_prove(request);
    request_sign(request, &secret, nonce, false);
    ingest_heard(call->api->config.loop, call->run);
    return true;
refused:
    worker_forbid(request);
    return false;
}

/* --- Journals --------------------------------------------------------------------------------- */

static void journal_done(void *context, uint64_t committed, const struct error *failure)
{
    struct request *request = context;
    if (failure)
        request_reply_error(request, API_UNAVAILABLE, NULL, "%s", failure->message);
    else
        request_reply_json(request, 200,
                           journal_reply_to_json(&(struct journal_reply){(int64_t)committed}));
}

void worker_journal(struct call *call)
{
    if (!worker_admit(call))
        return;
    size_t size;
    const char *body = request_body(call->request, &size);
    json_t *json = json_loadb(body, size, 0, NULL);
    struct journal_push push = journal_push_read(json);
    struct ingest_waiter waiter = {journal_done, call->request};
    struct error err;
    int status;
    if (loop_trouble(call->api->config.loop))
        status = error_set(&err, -ENOSPC, "the record cannot be written");
    else if (!push.node)
        status = error_set(&err, -EINVAL, "`node` is missing");
    else
        status =
            ingest_take(call->api->config.loop, call->run, push.node, push.entries, &waiter, &err);
    if (status < 0)
        request_reply_error(call->request, status == -EINVAL ? API_BAD_REQUEST : API_UNAVAILABLE,
                            NULL, "%s", err.message);
    json_decref(json);
}

/* --- Commands --------------------------------------------------------------------------------- */

bool worker_answer(void *context, const struct waiter *waiter, bool is_over)
{
    const struct api *api = context;
    unsigned number;
    json_t *command =
        ingest_command(api->config.loop, waiter->id, (unsigned)waiter->after, &number);
    bool is_answered = number != 0 || is_over;
    if (is_answered)
        request_reply_json(waiter->request, 200, command);
    else
        json_decref(command);
    return is_answered;
}

void worker_command(struct call *call)
{
    struct waiter waiter = {.request = call->request, .id = call->run};
    if (!worker_admit(call))
        return;
    const char *after = request_query(call->request, "after");
    waiter.after = after ? strtoul(after, NULL, 10) & UINT32_MAX : 0;
    waiters_add(&call->api->commands, &waiter, WAIT_MAX_S);
}
