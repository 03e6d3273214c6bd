/* Asking a witness. */
#include "worker/health/testimony.h"

#include "lib/memory.h"
#include "lib/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TESTIMONY_SIZE_MAX = 128 * 1024, TESTIMONY_READ_SIZE = 8192, TESTIMONY_PID_SIZE = 16 };

struct testimony {
    struct testimony_options options; /* `done` is NULL once it was called */
    uv_pipe_t output;
    uv_timer_t deadline;
    unsigned handles;
    struct text text;
    char buffer[TESTIMONY_READ_SIZE];
};

static void testimony_closed(uv_handle_t *handle)
{
    struct testimony *testimony = handle->data;
    if (--testimony->handles)
        return;
    text_fini(&testimony->text);
    free(testimony);
}

static void testimony_close(struct testimony *testimony)
{
    uv_close((uv_handle_t *)&testimony->output, testimony_closed);
    uv_close((uv_handle_t *)&testimony->deadline, testimony_closed);
}

static void testimony_end(struct testimony *testimony)
{
    void (*done)(void *, json_t *) = testimony->options.done;
    json_t *report = json_loadb(text_string(&testimony->text), testimony->text.size, 0, NULL);
    if (!json_is_object(report)) {
        json_decref(report);
        report = NULL;
    }
    testimony->options.done = NULL;
    testimony_close(testimony);
    done(testimony->options.context, report);
}

static void testimony_deadline_done(uv_timer_t *timer)
{
    testimony_end(timer->data);
}

static void testimony_read_start(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buffer)
{
    struct testimony *testimony = handle->data;
    (void)suggested;
    *ret_buffer = uv_buf_init(testimony->buffer, sizeof testimony->buffer);
}

static void testimony_read_done(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct testimony *testimony = stream->data;
    if (size > 0)
        text_add_bytes(&testimony->text, buffer->base, (size_t)size);
    if (size < 0 || testimony->text.size > TESTIMONY_SIZE_MAX)
        testimony_end(testimony);
}

/* --- The process ------------------------------------------------------------------------------ */

/* In the child of a process with threads: only what is safe there. */
static void testimony_execute(const struct testimony_options *options, char *const *argv,
                              int output)
{
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fork() != 0)
        _exit(0); /* so that the other one has no parent */
    if (dup2(nowhere, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
        dup2(nowhere, STDERR_FILENO) < 0) /* srun waits for whoever holds its pipes */
        _exit(1);
    (void)execve(options->program, argv, options->environment);
    _exit(1);
}

static void testimony_spawn(const struct testimony_options *options, char *const *argv, int output)
{
    (void)prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
    pid_t child = fork();
    if (child == 0)
        testimony_execute(options, argv, output);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); /* it could be set before */
}

struct testimony *testimony_ask(const struct testimony_options *options, const pid_t *pids,
                                size_t count)
{
    static char program[] = "phase-worker", verb[] = "witness";
    char numbers[TESTIMONY_PIDS_MAX][TESTIMONY_PID_SIZE];
    char *argv[TESTIMONY_PIDS_MAX + 3] = {program, verb};
    int output[2] = {-1, -1};
    struct testimony *testimony = xcalloc(1, sizeof *testimony);
    count = count < TESTIMONY_PIDS_MAX ? count : TESTIMONY_PIDS_MAX;
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(numbers[i], sizeof numbers[i], "%d", (int)pids[i]); /* fits */
        argv[2 + i] = numbers[i];
    }
    testimony->options = *options;
    testimony->handles = 2;
    testimony->output.data = testimony->deadline.data = testimony;
    uv_pipe_init(options->loop, &testimony->output, 0);
    uv_timer_init(options->loop, &testimony->deadline);
    uint64_t deadline_ms = 0; /* what fails at once is told from the loop, too */
    if (pipe2(output, O_CLOEXEC) == 0) {
        testimony_spawn(options, argv, output[1]);
        close(output[1]);
        (void)uv_pipe_open(&testimony->output, output[0]); /* a pipe of our own: it cannot fail */
        uv_read_start((uv_stream_t *)&testimony->output, testimony_read_start, testimony_read_done);
        deadline_ms = TESTIMONY_DEADLINE_MS;
    }
    uv_timer_start(&testimony->deadline, testimony_deadline_done, deadline_ms, 0);
    return testimony;
}

void testimony_cancel(struct testimony *testimony)
{
    if (!testimony)
        return;
    testimony->options.done = NULL;
    testimony_close(testimony);
}
