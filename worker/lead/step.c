/* Running srun. */
#include "worker/lead/step.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "worker/lines.h"

#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEP_LINE_MAX = 65536, STEP_READ_SIZE = 16384, STEP_ARGUMENTS = 24 };

enum step_stream { STEP_REPORTS, STEP_COMPLAINTS, STEP_STREAMS };

struct step_output {
    struct step *step;
    enum step_stream stream;
    uv_pipe_t pipe;
    struct lines lines;
    bool is_open;
    char buffer[STEP_READ_SIZE];
};

struct step {
    struct step_options options;
    uv_process_t process;
    uv_pipe_t input;
    struct step_output outputs[STEP_STREAMS];
    bool has_ended;
    int code, signal;
    char complaint[256];
    unsigned handles; /* that are not closed */
};

/* A command on its way to srun. */
struct step_line {
    uv_write_t request;
    char *text;
};

static void step_handle_closed(uv_handle_t *handle)
{
    struct step *step = handle->data;
    if (--step->handles)
        return;
    for (unsigned i = 0; i < STEP_STREAMS; i++)
        lines_fini(&step->outputs[i].lines);
    free(step);
}

static void step_check(struct step *step)
{
    bool is_open = step->outputs[STEP_REPORTS].is_open || step->outputs[STEP_COMPLAINTS].is_open;
    if (step->has_ended && !is_open)
        step->options.ended(step->options.context, step->code, step->signal);
}

static void step_process_done(uv_process_t *process, int64_t code, int number)
{
    struct step *step = process->data;
    step->has_ended = true;
    step->code = (int)code;
    step->signal = number;
    step_check(step);
}

/* What is no report is passed on to the job's own output. */
static void step_report(void *context, const char *line, size_t size)
{
    struct step *step = context;
    json_t *report = json_loadb(line, size, 0, NULL);
    if (json_string_value(json_object_get(report, "report")))
        step->options.reported(step->options.context, report);
    else
        printf("%s\n", line);
    json_decref(report);
}

static void step_complained(void *context, const char *line, size_t size)
{
    static const char begin[] = "srun: error: ";
    struct step *step = context;
    (void)size;
    fprintf(stderr, "%s\n", line);
    /* When a task is lost srun ends the others, and complains of those too. */
    if (text_starts(line, begin) && !strstr(step->complaint, ": task ") &&
        !text_starts(step->complaint, "Node failure on "))
        (void)snprintf(step->complaint, sizeof(step->complaint), "%s",
                       line + strlen(begin)); /* may be cut */
}

static void step_read_start(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buffer)
{
    struct step_output *output =
        (struct step_output *)((char *)handle - offsetof(struct step_output, pipe));
    (void)suggested;
    *ret_buffer = uv_buf_init(output->buffer, sizeof(output->buffer));
}

static void step_read_done(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct step_output *output =
        (struct step_output *)((char *)stream - offsetof(struct step_output, pipe));
    struct step *step = output->step;
    lines_found *found = output->stream == STEP_REPORTS ? step_report : step_complained;
    if (size > 0)
        lines_feed(&output->lines, buffer->base, (size_t)size, found, step);
    if (size >= 0)
        return;
    lines_end(&output->lines, found, step);
    uv_read_stop(stream);
    output->is_open = false;
    step_check(step);
}

static int step_spawn(struct step *step, struct error *err)
{
    const struct step_options *options = &step->options;
    char nodes[32], tasks[32];
    (void)snprintf(nodes, sizeof(nodes), "--nodes=%u", options->nodes); /* they fit */
    (void)snprintf(tasks, sizeof(tasks), "--ntasks=%u", options->nodes);
    /* Each has its reason in the notes on Slurm: without --overlap a later step would wait, without
     * --kill-on-bad-exit a killed agent would not end the step, --input=all is the broadcast. Not
     * --unbuffered: that gives a terminal, and lines of several nodes would mix. */
    char *arguments[STEP_ARGUMENTS] = {
        "srun",
        "--overlap",
        "--kill-on-bad-exit=1",
        "--cpu-bind=none",
        "--mem=0",
        nodes,
        tasks,
        "--ntasks-per-node=1",
        "--mpi=none",
        "--input=all",
        "--job-name=phased",
        (char *)options->program,
        "task",
        (char *)options->job_dir,
        NULL,
    };
    uv_stdio_container_t streams[] = {
        {.flags = UV_CREATE_PIPE | UV_READABLE_PIPE, .data.stream = (uv_stream_t *)&step->input},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
         .data.stream = (uv_stream_t *)&step->outputs[STEP_REPORTS].pipe},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
         .data.stream = (uv_stream_t *)&step->outputs[STEP_COMPLAINTS].pipe},
    };
    const uv_process_options_t process = {
        .exit_cb = step_process_done,
        .file = "srun",
        .args = arguments,
        .stdio_count = sizeof(streams) / sizeof(streams[0]),
        .stdio = streams,
    };
    int result = uv_spawn(options->loop, &step->process, &process);
    if (result < 0)
        return error_set(err, result, "cannot start srun: %s", uv_strerror(result));
    return 0;
}

int step_start(const struct step_options *options, struct step **ret_step, struct error *err)
{
    struct step *step = xcalloc(1, sizeof(*step));
    step->options = *options;
    step->process.data = step->input.data = step;
    step->handles = 2 + STEP_STREAMS;
    uv_pipe_init(options->loop, &step->input, 0);
    for (unsigned i = 0; i < STEP_STREAMS; i++) {
        struct step_output *output = &step->outputs[i];
        output->step = step;
        output->stream = (enum step_stream)i;
        output->lines.size_max = STEP_LINE_MAX;
        uv_pipe_init(options->loop, &output->pipe, 0);
        output->pipe.data = step;
    }
    int result = step_spawn(step, err);
    if (result < 0) {
        step_close(step);
        return result;
    }
    for (unsigned i = 0; i < STEP_STREAMS; i++) {
        struct step_output *output = &step->outputs[i];
        output->is_open = true;
        uv_read_start((uv_stream_t *)&output->pipe, step_read_start, step_read_done);
    }
    *ret_step = step;
    return 0;
}

static void step_send_done(uv_write_t *request, int status)
{
    struct step_line *line = request->data;
    (void)status; /* a broken pipe: the end of srun is told by itself */
    free(line->text);
    free(line);
}

void step_send(struct step *step, const char *format, ...)
{
    struct text text = {0};
    struct step_line *line = xmalloc(sizeof(*line));
    va_list args;
    va_start(args, format);
    text_addv(&text, format, args);
    va_end(args);
    text_add(&text, "\n");
    size_t size = text.size;
    line->text = text_steal(&text);
    line->request.data = line;
    uv_buf_t buffer = uv_buf_init(line->text, (unsigned)size);
    int result = uv_write(&line->request, (uv_stream_t *)&step->input, &buffer, 1, step_send_done);
    if (result < 0)
        step_send_done(&line->request, result);
}

const char *step_complaint(const struct step *step)
{
    return step->complaint;
}

void step_kill(struct step *step)
{
    if (!step->has_ended)
        (void)uv_process_kill(&step->process, SIGKILL); /* it may have ended just now */
}

void step_close(struct step *step)
{
    if (!step)
        return;
    uv_close((uv_handle_t *)&step->process, step_handle_closed);
    uv_close((uv_handle_t *)&step->input, step_handle_closed);
    for (unsigned i = 0; i < STEP_STREAMS; i++)
        uv_close((uv_handle_t *)&step->outputs[i].pipe, step_handle_closed);
}
