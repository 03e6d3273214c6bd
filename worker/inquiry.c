/* Running scontrol. */
#include "worker/inquiry.h"

#include "lib/text.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { INQUIRY_SIZE = 16384 };

struct inquiry {
    uv_process_t process;
    uv_pipe_t output;
    uv_timer_t timer;
    inquiry_done *done;
    void *context;
    char answer[INQUIRY_SIZE];
    size_t size;
    bool has_ended, is_read, is_closing;
    unsigned handles;
};

static void inquiry_closed(uv_handle_t *handle)
{
    struct inquiry *inquiry = handle->data;
    if (--inquiry->handles == 0)
        free(inquiry);
}

/* Copies the value of " Name=value" up to the next blank. */
static void inquiry_field(const char *text, const char *name, char *value, size_t size)
{
    const char *found = strstr(text, name);
    found = found ? found + strlen(name) : "";
    (void)snprintf(value, size, "%.*s", (int)strcspn(found, " \n"), found); /* may be cut */
}

/* Times are local: 2026-11-20T23:59:59; or Unknown, None, N/A. */
static double inquiry_time(const char *text, const char *name)
{
    char value[64];
    struct tm parts = {.tm_isdst = -1};
    inquiry_field(text, name, value, sizeof(value));
    return strptime(value, "%Y-%m-%dT%H:%M:%S", &parts) ? (double)mktime(&parts) : 0;
}

static struct inquiry_answer inquiry_parse(const char *text)
{
    struct inquiry_answer answer = {0};
    inquiry_field(text, " JobState=", answer.state, sizeof(answer.state));
    answer.end_time = inquiry_time(text, " EndTime=");
    answer.is_preempted = inquiry_time(text, " PreemptTime=") > 0;
    return answer;
}

static void inquiry_check(struct inquiry *inquiry, bool is_late)
{
    if (inquiry->is_closing || (!is_late && !(inquiry->has_ended && inquiry->is_read)))
        return;
    struct inquiry_answer answer = inquiry_parse(inquiry->answer);
    inquiry->is_closing = true;
    inquiry->done(inquiry->context, &answer);
    if (!inquiry->has_ended && inquiry->process.pid)
        (void)uv_process_kill(&inquiry->process, SIGKILL); /* it may have ended just now */
    uv_close((uv_handle_t *)&inquiry->process, inquiry_closed);
    uv_close((uv_handle_t *)&inquiry->output, inquiry_closed);
    uv_close((uv_handle_t *)&inquiry->timer, inquiry_closed);
}

static void inquiry_process_done(uv_process_t *process, int64_t code, int number)
{
    struct inquiry *inquiry = process->data;
    (void)code;
    (void)number;
    inquiry->has_ended = true;
    inquiry_check(inquiry, false);
}

static void inquiry_timer_done(uv_timer_t *timer)
{
    inquiry_check(timer->data, true);
}

static void inquiry_read_start(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buffer)
{
    struct inquiry *inquiry = handle->data;
    size_t room = sizeof(inquiry->answer) - 1 - inquiry->size;
    (void)suggested;
    *ret_buffer = uv_buf_init(inquiry->answer + inquiry->size, (unsigned)room);
}

static void inquiry_read_done(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct inquiry *inquiry = stream->data;
    (void)buffer;
    if (size > 0)
        inquiry->size += (size_t)size;
    if (size >= 0)
        return;
    uv_read_stop(stream);
    inquiry->is_read = true;
    inquiry_check(inquiry, false);
}

void inquiry_start(uv_loop_t *loop, int64_t job_id, inquiry_done *done, void *context)
{
    struct inquiry *inquiry = calloc(1, sizeof(*inquiry));
    char *job = text_format("%lld", (long long)job_id);
    if (!inquiry)
        abort();
    char *arguments[] = {"scontrol", "--oneliner", "show", "job", job, NULL};
    inquiry->done = done;
    inquiry->context = context;
    inquiry->handles = 3;
    inquiry->process.data = inquiry->output.data = inquiry->timer.data = inquiry;
    uv_pipe_init(loop, &inquiry->output, 0);
    uv_timer_init(loop, &inquiry->timer);
    uv_stdio_container_t streams[] = {
        {.flags = UV_IGNORE},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
         .data.stream = (uv_stream_t *)&inquiry->output},
        {.flags = UV_IGNORE},
    };
    const uv_process_options_t options = {
        .exit_cb = inquiry_process_done,
        .file = "scontrol",
        .args = arguments,
        .stdio_count = sizeof(streams) / sizeof(streams[0]),
        .stdio = streams,
    };
    bool is_started = uv_spawn(loop, &inquiry->process, &options) == 0;
    if (is_started)
        uv_read_start((uv_stream_t *)&inquiry->output, inquiry_read_start, inquiry_read_done);
    uv_timer_start(&inquiry->timer, inquiry_timer_done, is_started ? INQUIRY_TIMEOUT_MS : 0, 0);
    free(job);
}
