/* Running scontrol. */
#include "worker/lead/scontrol.h"

#include "lib/memory.h"
#include "lib/text.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A configuration, or the nodes of a partition, may well be some ten thousand bytes. What is beyond
 * this is read too, since scontrol would wait, but dropped. */
enum { SCONTROL_OUTPUT_MAX = 1024 * 1024 };

struct scontrol {
    uv_process_t process;
    uv_pipe_t pipe;
    uv_timer_t timer;
    scontrol_done *done;
    void *context;
    char buffer[16384];
    struct text output;
    int code;
    bool has_ended, is_read, is_closing;
    unsigned handles;
};

static void scontrol_closed(uv_handle_t *handle)
{
    struct scontrol *scontrol = handle->data;
    if (--scontrol->handles > 0)
        return;
    text_fini(&scontrol->output);
    free(scontrol);
}

static void scontrol_check(struct scontrol *scontrol, bool is_late)
{
    if (scontrol->is_closing || (!is_late && !(scontrol->has_ended && scontrol->is_read)))
        return;
    scontrol->is_closing = true;
    scontrol->done(scontrol->context, scontrol->code, text_string(&scontrol->output));
    if (!scontrol->has_ended && scontrol->process.pid)
        (void)uv_process_kill(&scontrol->process, SIGKILL); /* it may have ended just now */
    uv_close((uv_handle_t *)&scontrol->process, scontrol_closed);
    uv_close((uv_handle_t *)&scontrol->pipe, scontrol_closed);
    uv_close((uv_handle_t *)&scontrol->timer, scontrol_closed);
}

static void scontrol_process_done(uv_process_t *process, int64_t code, int number)
{
    struct scontrol *scontrol = process->data;
    scontrol->has_ended = true;
    scontrol->code = number ? -1 : (int)code;
    scontrol_check(scontrol, false);
}

static void scontrol_timer_done(uv_timer_t *timer)
{
    scontrol_check(timer->data, true);
}

static void scontrol_read_start(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buffer)
{
    struct scontrol *scontrol = handle->data;
    (void)suggested;
    *ret_buffer = uv_buf_init(scontrol->buffer, sizeof(scontrol->buffer));
}

static void scontrol_read_done(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct scontrol *scontrol = stream->data;
    if (size > 0 && scontrol->output.size < SCONTROL_OUTPUT_MAX)
        text_add_bytes(&scontrol->output, buffer->base, (size_t)size);
    if (size >= 0)
        return;
    uv_read_stop(stream);
    scontrol->is_read = true;
    scontrol_check(scontrol, false);
}

void scontrol_start(uv_loop_t *loop, const struct scontrol_call *call, scontrol_done *done,
                    void *context)
{
    struct scontrol *scontrol = xcalloc(1, sizeof(*scontrol));
    char *arguments[SCONTROL_ARGUMENTS_MAX + 2] = {"scontrol"};
    for (unsigned i = 0; i < SCONTROL_ARGUMENTS_MAX && call->arguments[i]; i++)
        arguments[i + 1] = (char *)call->arguments[i];
    scontrol->done = done;
    scontrol->context = context;
    scontrol->code = -1;
    scontrol->handles = 3;
    scontrol->process.data = scontrol->pipe.data = scontrol->timer.data = scontrol;
    uv_pipe_init(loop, &scontrol->pipe, 0);
    uv_timer_init(loop, &scontrol->timer);
    uv_stdio_container_t streams[] = {
        {.flags = UV_IGNORE}, {.flags = UV_IGNORE}, {.flags = UV_IGNORE}};
    streams[call->captured_fd].flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE;
    streams[call->captured_fd].data.stream = (uv_stream_t *)&scontrol->pipe;
    const uv_process_options_t options = {
        .exit_cb = scontrol_process_done,
        .file = "scontrol",
        .args = arguments,
        .stdio_count = sizeof(streams) / sizeof(streams[0]),
        .stdio = streams,
    };
    bool is_started = uv_spawn(loop, &scontrol->process, &options) == 0;
    if (is_started)
        uv_read_start((uv_stream_t *)&scontrol->pipe, scontrol_read_start, scontrol_read_done);
    uv_timer_start(&scontrol->timer, scontrol_timer_done,
                   is_started ? (uint64_t)call->timeout_ms : 0, 0);
}
