/* The client's side of NCCL's RAS protocol: each line is answered by a line. The status ends with
 * the connection. */
#include "worker/health/ras.h"

#include "lib/memory.h"
#include "lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RAS_PORT = 28028, RAS_READ_SIZE = 4096 };

/* What the client sends when the last answer has come, and how the next answer begins. */
static const struct {
    const char *says, *hears;
} ras_steps[] = {
    {"CLIENT PROTOCOL 2\n", "SERVER PROTOCOL "},
    {"TIMEOUT 3\n", "OK"},
    {"VERBOSE STATUS\n", NULL},
};

enum { RAS_LAST = sizeof ras_steps / sizeof ras_steps[0] - 1 };

struct ras {
    uv_tcp_t stream;
    uv_timer_t deadline;
    uv_connect_t connection;
    uv_write_t request;
    unsigned handles, step;
    struct text text;
    void (*done)(void *context, const char *text); /* NULL after the call */
    void *context;
    char buffer[RAS_READ_SIZE];
};

static void ras_closed(uv_handle_t *handle)
{
    struct ras *ras = handle->data;
    if (--ras->handles)
        return;
    text_fini(&ras->text);
    free(ras);
}

static void ras_close(struct ras *ras)
{
    if (uv_is_closing((uv_handle_t *)&ras->stream))
        return;
    uv_close((uv_handle_t *)&ras->stream, ras_closed);
    uv_close((uv_handle_t *)&ras->deadline, ras_closed);
}

/* Another program may listen on that port, so only text after NCCL's greeting is an answer. */
static void ras_end(struct ras *ras)
{
    void (*done)(void *, const char *) = ras->done;
    bool is_answer = ras->step == RAS_LAST && ras->text.size > 0;
    ras->done = NULL;
    for (size_t i = 0; i < ras->text.size; i++) {
        char *at = &ras->text.data[i];
        if (((unsigned char)*at < ' ' && *at != '\n') || (unsigned char)*at >= 127)
            *at = '?';
    }
    if (done)
        done(ras->context, is_answer ? text_string(&ras->text) : NULL);
    ras_close(ras);
}

static void ras_deadline_done(uv_timer_t *timer)
{
    ras_end(timer->data);
}

static void ras_say_done(uv_write_t *request, int status)
{
    struct ras *ras = request->data;
    if (status < 0 && ras->done)
        ras_end(ras);
}

static void ras_say(struct ras *ras)
{
    const char *line = ras_steps[ras->step].says;
    uv_buf_t buffer = uv_buf_init((char *)line, (unsigned)strlen(line));
    if (uv_write(&ras->request, (uv_stream_t *)&ras->stream, &buffer, 1, ras_say_done) < 0)
        ras_end(ras);
}

/* Continues when the expected line is complete. */
static void ras_hear(struct ras *ras)
{
    const char *hears = ras_steps[ras->step].hears;
    if (!hears && ras->text.size >= RAS_TEXT_MAX)
        ras_end(ras);
    if (!hears || !strchr(text_string(&ras->text), '\n'))
        return;
    if (!text_starts(text_string(&ras->text), hears)) {
        ras_end(ras);
        return;
    }
    text_clear(&ras->text);
    ras->step++;
    ras_say(ras);
}

static void ras_read_start(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buffer)
{
    struct ras *ras = handle->data;
    (void)suggested;
    *ret_buffer = uv_buf_init(ras->buffer, sizeof ras->buffer);
}

static void ras_read_done(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct ras *ras = stream->data;
    if (size < 0) {
        ras_end(ras);
        return;
    }
    size_t room = RAS_TEXT_MAX - ras->text.size;
    for (size_t i = 0; i < (size_t)size && i < room; i++) {
        char byte = buffer->base[i];
        text_add_bytes(&ras->text, byte ? &byte : "?", 1);
    }
    if (size > 0)
        ras_hear(ras);
}

static void ras_connected(uv_connect_t *request, int status)
{
    struct ras *ras = request->data;
    if (!ras->done)
        return;
    if (status < 0 || uv_read_start((uv_stream_t *)&ras->stream, ras_read_start, ras_read_done) < 0)
        ras_end(ras);
    else
        ras_say(ras);
}

/* Accepts only numeric addresses, because resolving a name could take long. */
static int ras_parse(const char *address, struct sockaddr_storage *ret_address)
{
    char host[64] = "127.0.0.1";
    unsigned port = RAS_PORT;
    const char *colon = address ? strrchr(address, ':') : NULL;
    size_t size = colon ? (size_t)(colon - address) : 0;
    if (address && (!colon || size >= sizeof host))
        return UV_EINVAL;
    if (colon && !text_starts(address, "localhost:")) {
        bool is_bracketed = size > 2 && address[0] == '[';
        (void)snprintf(host, sizeof host, "%.*s", (int)(is_bracketed ? size - 2 : size),
                       address + is_bracketed); /* fits */
    }
    if (colon)
        port = (unsigned)strtoul(colon + 1, NULL, 10) & 0xFFFF;
    if (uv_ip4_addr(host, (int)port, (struct sockaddr_in *)ret_address) == 0)
        return 0;
    return uv_ip6_addr(host, (int)port, (struct sockaddr_in6 *)ret_address);
}

struct ras *ras_ask(uv_loop_t *loop, const char *address,
                    void (*done)(void *context, const char *text), void *context)
{
    struct sockaddr_storage target;
    struct ras *ras = xcalloc(1, sizeof *ras);
    ras->done = done;
    ras->context = context;
    ras->handles = 2;
    uv_tcp_init(loop, &ras->stream);
    uv_timer_init(loop, &ras->deadline);
    ras->stream.data = ras->deadline.data = ras->connection.data = ras->request.data = ras;
    int status = ras_parse(address, &target);
    if (status == 0)
        status = uv_tcp_connect(&ras->connection, &ras->stream, (struct sockaddr *)&target,
                                ras_connected);
    /* An immediate failure is reported from the loop, too. */
    uv_timer_start(&ras->deadline, ras_deadline_done, status < 0 ? 0 : RAS_DEADLINE_MS, 0);
    return ras;
}

void ras_cancel(struct ras *ras)
{
    if (!ras)
        return;
    ras->done = NULL;
    ras_close(ras);
}
