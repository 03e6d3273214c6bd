/* Runs libmicrohttpd in the loop. libuv polls libmicrohttpd's epoll descriptor. A timer runs
 * libmicrohttpd when it asks for that, or when the time of a stranger is up (peers.h). If a handler
 * does not answer a request at once, the request is suspended. The reply resumes the request.
 * libmicrohttpd then calls on_request() again, which sends the reply. */
#include "daemon/api/server.h"

#include "daemon/api/peers.h"
#include "daemon/api/request.h"
#include "lib/error.h"
#include "lib/memory.h"

#include <assert.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    IDLE_TIMEOUT_S = 90, /* for a connection without a request; not for a long poll */
    ARGUMENTS_MAX = 256, /* in one query */
    BUFFER_MAX = 32768,  /* libmicrohttpd's, per connection; the header must fit, with its fields */
};

struct server {
    struct server_config config;
    struct MHD_Daemon *mhd;
    struct peers peers;
    uv_poll_t readable;
    uv_timer_t due;
    LIST_HEAD(, request) suspended; /* so that server_close() can answer them */
    bool is_closing;                /* nothing is suspended any more */
    unsigned handles_open;
    void (*closed)(void *context);
    void *closed_context;
};

/* --- Suspended requests ----------------------------------------------------------------------- */

static void request_suspend(struct request *request)
{
    request->is_suspended = true;
    LIST_INSERT_HEAD(&request->server->suspended, request, suspended);
    MHD_suspend_connection(request->connection);
}

static void on_due(uv_timer_t *timer);

static void request_resume(struct request *request)
{
    LIST_REMOVE(request, suspended);
    request->is_suspended = false;
    MHD_resume_connection(request->connection);
    /* MHD_run() is not called here: the reply may be made inside MHD_run(). The start fails only if
     * the timer is closing. */
    (void)uv_timer_start(&request->server->due, on_due, 0, 0);
}

/* --- libmicrohttpd's callbacks ---------------------------------------------------------------- */

static struct peer *connection_peer(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static void on_connection(void *context, struct MHD_Connection *connection, void **kept,
                          enum MHD_ConnectionNotificationCode code)
{
    struct server *server = context;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        peer_free(*kept);
        return;
    }
    /* libmicrohttpd 1.0 keeps one answer for all calls. The next call overwrites it. */
    int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    const union MHD_ConnectionInfo *address =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    *kept = peer_new(&server->peers, fd, address ? address->client_addr : NULL,
                     (int64_t)uv_now(server->config.uv));
}

static size_t count_arguments(const char *target)
{
    size_t count = 0;
    for (const char *c = strchr(target, '?'); c; c = strchr(c + 1, '&'))
        count++;
    return count;
}

static void *request_begin(void *context, const char *target, struct MHD_Connection *connection)
{
    struct request *request = xcalloc(1, sizeof *request);
    request->server = context;
    request->resume = request_resume;
    request->connection = connection;
    request->peer = connection_peer(connection);
    request->target = xstrdup(target);
    /* libmicrohttpd 0.9 sends no answer when the arguments fill its memory. `target` is
     * libmicrohttpd's buffer, which it splits after this call. Cutting the buffer here leaves it
     * one argument, and request_admit() refuses the request. */
    if (count_arguments(target) > ARGUMENTS_MAX)
        for (char *c = (char *)target; (c = strchr(c, '&'));)
            *c = '_';
    return request;
}

static void request_end(void *context, struct MHD_Connection *connection, void **kept,
                        enum MHD_RequestTerminationCode why)
{
    (void)context;
    (void)connection;
    (void)why;
    struct request *request = *kept;
    *kept = NULL;
    if (!request)
        return;
    assert(!request->is_suspended);
    peer_clear(request->peer);
    free(request->target);
    free(request->reply);
    free(request->header_name);
    free(request->header_value);
    free(request);
}

static enum MHD_Result request_send(struct request *request)
{
    request_finish_reply(request);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(request->reply_size, request->reply, MHD_RESPMEM_MUST_FREE);
    if (!response)
        abort();
    request->reply = NULL;
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                  request->type ? request->type : "application/json");
    if (request->header_name)
        (void)MHD_add_response_header(response, request->header_name, request->header_value);
    for (const char *const(*header)[2] = request->server->config.headers; header && (*header)[0];
         header++)
        (void)MHD_add_response_header(response, (*header)[0], (*header)[1]);
    if (request->peer->is_stranger && !request->is_kept)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    enum MHD_Result result = MHD_queue_response(request->connection, request->status, response);
    MHD_destroy_response(response);
    return result;
}

static bool peer_is_owner(struct request *request)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (!info || getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return false;
    return peer.uid == geteuid();
}

struct header_count {
    unsigned lengths, codings;
};

static enum MHD_Result header_visit(void *context, enum MHD_ValueKind kind, const char *name,
                                    const char *value)
{
    struct header_count *count = context;
    (void)kind;
    (void)value;
    count->lengths += strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0;
    count->codings += strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0;
    return MHD_YES;
}

/* Whether the request line has more than three words with one blank between each two. libmicrohttpd
 * gives the words as strings, which end at a NUL. The strings still lie in the buffer of the
 * request line, so the distance between the first and the last shows how long the line was. A
 * distance that is larger than the buffer means nothing. */
static bool request_line_has_more(const struct request *request, const char *version)
{
    uintptr_t begin = (uintptr_t)request->method, end = (uintptr_t)version;
    bool is_one_buffer = begin < end && end - begin < BUFFER_MAX;
    return is_one_buffer && end - begin > strlen(request->method) + strlen(request->target) + 2;
}

/* Names what two HTTP programs may read in different ways; NULL if there is nothing. */
static const char *request_ambiguity(struct request *request, const char *version)
{
    struct header_count count = {0};
    (void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, header_visit, &count);
    const char *coding = request_header(request, MHD_HTTP_HEADER_TRANSFER_ENCODING);
    if (count.lengths + count.codings > 1)
        return "more than one header says how long the body is";
    if (coding && strcasecmp(coding, "chunked") != 0)
        return "Transfer-Encoding must be chunked";
    if (strstr(request->target, "%00"))
        return "the path holds a NUL";
    if (request_line_has_more(request, version))
        return "the request line holds a NUL, or a blank too many";
    return NULL;
}

/* Checks the header before the body arrives: a request that is refused now is not uploaded. */
static void request_admit(struct request *request, const char *version)
{
    struct server *server = request->server;
    const char *length = request_header(request, MHD_HTTP_HEADER_CONTENT_LENGTH);
    const char *ambiguity = request_ambiguity(request, version);
    if (server->config.owner_only && !peer_is_owner(request))
        request_reply_error(request, API_FORBIDDEN, NULL, "this socket answers its owner only");
    else if (ambiguity)
        request_reply_error(request, API_BAD_REQUEST, NULL, "%s", ambiguity);
    else if (count_arguments(request->target) > ARGUMENTS_MAX)
        request_reply_error(request, API_BAD_REQUEST, NULL, "the query has more than %d arguments",
                            ARGUMENTS_MAX);
    else if (length && strtoull(length, NULL, 10) > server->config.body_max)
        request_reply_error(request, API_TOO_LARGE, NULL, "the body is larger than %zu bytes",
                            server->config.body_max);
    else if (server->config.owner_only)
        request_prove(request);
    else
        server->config.admit(request, server->config.context);
}

static void request_reply_stopping(struct request *request)
{
    request_reply_error(request, API_UNAVAILABLE, NULL, "the daemon is stopping");
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection,
                                  const char *path, const char *method, const char *version,
                                  const char *upload, size_t *upload_size, void **kept)
{
    (void)connection;
    struct server *server = context;
    struct request *request = *kept;
    if (!request->has_begun) {
        request->has_begun = true;
        request->method = method;
        request->path = path;
        request_admit(request, version);
        return request->is_answered ? request_send(request) : MHD_YES;
    }
    if (*upload_size > 0) {
        /* Only a body of unknown length can get here. A reply must wait for its end. */
        if (request->peer->body.size + *upload_size > server->config.body_max ||
            !peer_add(request->peer, upload, *upload_size))
            return MHD_NO;
        *upload_size = 0;
        return MHD_YES;
    }
    if (!request->is_answered) {
        request->method = method;
        request->path = path;
        if (server->is_closing)
            request_reply_stopping(request);
        else
            server->config.handle(request, server->config.context);
    }
    if (request->is_answered)
        return request_send(request);
    request_suspend(request);
    return MHD_YES;
}

/* --- The loop --------------------------------------------------------------------------------- */

static unsigned connection_count(const struct server *server)
{
    return MHD_get_daemon_info(server->mhd, MHD_DAEMON_INFO_CURRENT_CONNECTIONS)->num_connections;
}

static void server_run(struct server *server)
{
    int64_t now_ms = (int64_t)uv_now(server->config.uv);
    unsigned before, dropped;
    /* At its limit of connections libmicrohttpd stops listening. It listens again in the first run
     * after a connection has ended, and nothing else starts that run. */
    do {
        before = connection_count(server);
        (void)MHD_run(server->mhd); /* fails only if the server was started in another mode */
        dropped = peers_drop_late(&server->peers, now_ms);
    } while (dropped || connection_count(server) < before);
    MHD_UNSIGNED_LONG_LONG ms;
    int64_t wait_ms = peers_wait_ms(&server->peers, now_ms);
    if (MHD_get_timeout(server->mhd, &ms) == MHD_YES && (wait_ms < 0 || (int64_t)ms < wait_ms))
        wait_ms = (int64_t)ms;
    if (wait_ms >= 0)
        (void)uv_timer_start(&server->due, on_due, (uint64_t)wait_ms, 0);
    else
        (void)uv_timer_stop(&server->due);
}

static void on_due(uv_timer_t *timer)
{
    server_run(timer->data);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    (void)status; /* an error of the descriptor shows at its next use */
    (void)events;
    server_run(poll->data);
}

static void on_closed(uv_handle_t *handle)
{
    struct server *server = handle->data;
    if (--server->handles_open > 0)
        return;
    server->closed(server->closed_context);
    free(server);
}

int server_open(const struct server_config *config, struct server **ret_server, struct error *err)
{
    struct server *server = xcalloc(1, sizeof *server);
    server->config = *config;
    server->peers.strangers_max = (config->connections_max + 1) / 2;
    if (server->peers.strangers_max > PEERS_STRANGERS_MAX)
        server->peers.strangers_max = PEERS_STRANGERS_MAX;
    server->mhd = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, server,
        MHD_OPTION_LISTEN_SOCKET, config->listen_fd, MHD_OPTION_URI_LOG_CALLBACK, request_begin,
        server, MHD_OPTION_NOTIFY_COMPLETED, request_end, server, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, server, MHD_OPTION_CONNECTION_LIMIT, config->connections_max,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)BUFFER_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_TIMEOUT_S, MHD_OPTION_END);
    if (!server->mhd) {
        free(server);
        return error_set(err, -EIO, "could not start the HTTP server: %s", strerror(errno));
    }
    int epoll_fd = MHD_get_daemon_info(server->mhd, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    int status = uv_poll_init(config->uv, &server->readable, epoll_fd);
    if (status < 0) {
        MHD_stop_daemon(server->mhd);
        free(server);
        return error_set(err, status, "could not watch the HTTP server: %s", uv_strerror(status));
    }
    (void)uv_timer_init(config->uv, &server->due); /* cannot fail */
    server->readable.data = server->due.data = server;
    server->handles_open = 2;
    (void)uv_poll_start(&server->readable, UV_READABLE, on_readable); /* the descriptor is good */
    *ret_server = server;
    return 0;
}

void server_close(struct server *server, void (*closed)(void *context), void *context)
{
    server->is_closing = true; /* MHD_run() may find new requests */
    while (!LIST_EMPTY(&server->suspended))
        request_reply_stopping(LIST_FIRST(&server->suspended));
    (void)MHD_run(server->mhd); /* sends what fits into the socket; other clients see the connection
                                 * close */
    (void)uv_poll_stop(&server->readable);
    MHD_stop_daemon(server->mhd);
    server->closed = closed;
    server->closed_context = context;
    uv_close((uv_handle_t *)&server->readable, on_closed);
    uv_close((uv_handle_t *)&server->due, on_closed);
}
