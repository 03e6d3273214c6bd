/* Starts, reads and ends one child. The process has several threads, so only safe functions are
 * called between fork() and exec. An error in the child comes back through a pipe, which a
 * successful exec closes. */
#include "worker/process/child.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CHILD_READ_SIZE = 65536,
    CHILD_STREAMS = 2,
    CHILD_FDS = 3,
    CHILD_FILES_MAX = 1024, /* the worker opens no more files */
};

struct child_reader {
    struct child *child;
    struct child_stream stream;
    uv_pipe_t pipe;
    bool is_open;
    struct lines lines;
    struct text text;
};

struct child {
    uv_loop_t *loop;
    enum child_kind kind;
    void (*ended)(void *context, const struct child_end *end);
    void *context;
    pid_t pid;
    uv_process_t process; /* of a child of the loop */
    uv_pipe_t input;
    bool has_process, has_input; /* whether the handle is open */
    struct child_reader readers[CHILD_STREAMS];
    uv_timer_t deadline;
    bool has_ended, was_told, is_closing;
    struct child_end end;
    unsigned handles; /* handles that are not closed */
    char buffer[CHILD_READ_SIZE];
};

static bool child_reads(const struct child_stream *stream)
{
    return stream->output >= CHILD_BYTES;
}

/* --- The end ---------------------------------------------------------------------------------- */

static void child_handle_closed(uv_handle_t *handle)
{
    struct child *child = handle->data;
    if (--child->handles)
        return;
    for (unsigned i = 0; i < CHILD_STREAMS; i++) {
        lines_fini(&child->readers[i].lines);
        text_fini(&child->readers[i].text);
    }
    free(child);
}

static void child_tell(struct child *child)
{
    child->was_told = true;
    uv_timer_stop(&child->deadline);
    if (child->ended)
        child->ended(child->context, &child->end);
}

static void child_check(struct child *child)
{
    bool is_over = child->has_ended || child->kind == CHILD_OF_NOBODY;
    if (is_over && !child_is_read(child) && !child->was_told && !child->is_closing)
        child_tell(child);
}

static void child_end(struct child *child, int code, int number)
{
    child->has_ended = true;
    child->pid = 0;
    child->end.code = code;
    child->end.signal = number;
    child_check(child);
}

static void child_exit_done(uv_process_t *process, int64_t code, int number)
{
    child_end(process->data, (int)code, number);
}

void child_reaped(struct child *child, int status)
{
    child_end(child, WIFEXITED(status) ? WEXITSTATUS(status) : 0,
              WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static void child_late(uv_timer_t *timer)
{
    struct child *child = timer->data;
    child->end.is_late = true;
    child_signal(child, SIGKILL);
    child_tell(child);
}

static void child_never_began(uv_timer_t *timer)
{
    child_tell(timer->data);
}

void child_signal(struct child *child, int number)
{
    if (child->has_process && child->pid)
        (void)uv_process_kill(&child->process, number); /* it may have just ended */
}

pid_t child_pid(const struct child *child)
{
    return child->pid;
}

/* --- What it prints --------------------------------------------------------------------------- */

bool child_is_read(const struct child *child)
{
    return child->readers[0].is_open || child->readers[1].is_open;
}

const struct text *child_text(const struct child *child)
{
    return &child->readers[child->readers[1].stream.output == CHILD_TEXT].text;
}

static void child_read_start(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buffer)
{
    struct child *child = handle->data;
    (void)suggested;
    *ret_buffer = uv_buf_init(child->buffer, sizeof child->buffer);
}

static void child_line(void *context, const char *line, size_t size)
{
    const struct child_reader *reader = context;
    if (!reader->child->is_closing)
        reader->stream.found(reader->child->context, line, size);
}

static void child_take(struct child_reader *reader, const char *data, size_t size)
{
    const struct child_stream *stream = &reader->stream;
    size_t room = stream->size_max - reader->text.size; /* for CHILD_TEXT */
    if (stream->output == CHILD_LINES)
        lines_feed(&reader->lines, data, size, child_line, reader);
    else if (stream->output == CHILD_BYTES)
        stream->found(reader->child->context, data, size);
    else
        text_add_bytes(&reader->text, data, size < room ? size : room);
}

static void child_read_done(uv_stream_t *pipe, ssize_t size, const uv_buf_t *buffer)
{
    struct child_reader *reader =
        (struct child_reader *)((char *)pipe - offsetof(struct child_reader, pipe));
    struct child *child = reader->child;
    if (size > 0)
        child_take(reader, buffer->base, (size_t)size);
    if (size >= 0)
        return;
    if (reader->stream.output == CHILD_LINES)
        lines_end(&reader->lines, child_line, reader);
    uv_read_stop(pipe);
    reader->is_open = false;
    child_check(child);
}

/* --- What it is told -------------------------------------------------------------------------- */

struct child_message {
    uv_write_t request;
    char *text;
};

static void child_send_done(uv_write_t *request, int status)
{
    struct child_message *message = request->data;
    (void)status; /* after a broken pipe, the end of the child follows */
    free(message->text);
    free(message);
}

void child_send(struct child *child, char *text)
{
    struct child_message *message = xmalloc(sizeof *message);
    message->text = text;
    message->request.data = message;
    uv_buf_t buffer = uv_buf_init(text, (unsigned)strlen(text));
    int status =
        uv_write(&message->request, (uv_stream_t *)&child->input, &buffer, 1, child_send_done);
    if (status < 0)
        child_send_done(&message->request, status);
}

/* --- By libuv --------------------------------------------------------------------------------- */

static int child_spawn(struct child *child, const struct child_options *options, const int *fds,
                       struct error *err)
{
    uv_stdio_container_t streams[CHILD_FDS];
    for (int i = 0; i < CHILD_FDS; i++)
        streams[i] = (uv_stdio_container_t){.flags = UV_INHERIT_FD, .data.fd = fds[i]};
    const uv_process_options_t process = {
        .exit_cb = child_exit_done,
        .file = options->program,
        .args = (char **)options->arguments,
        .env = (char **)options->environment,
        .stdio_count = CHILD_FDS,
        .stdio = streams,
    };
    child->has_process = true;
    child->handles++;
    child->process.data = child;
    int status = uv_spawn(child->loop, &child->process, &process);
    if (status < 0)
        return error_set(err, status, "cannot start %s: %s", options->program, uv_strerror(status));
    child->pid = child->process.pid;
    return 0;
}

/* --- By fork ---------------------------------------------------------------------------------- */

/* The program must not inherit the signal handlers and masks of the agent. */
static void child_reset_signals(bool ignores_term)
{
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL); /* some signals cannot be set */
    if (ignores_term)
        (void)signal(SIGTERM, SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Prepares the child of an agent: its session, signals and limits. */
static void child_settle(const struct child_options *options)
{
    (void)setsid(); /* cannot fail in a new process */
    /* If the agent dies, no program may stay on the GPUs. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    child_reset_signals(options->ignores_term);
}

/* Lets the program inherit only its standard streams. Some sockets of libcurl would otherwise stay
 * open in each rank. */
static void child_hide_files(void)
{
    if (close_range(CHILD_FDS, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
        return;
    for (int fd = CHILD_FDS; fd < CHILD_FILES_MAX; fd++) /* before Linux 5.11 */
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);            /* fails for a number that is not open */
}

/* Runs in the child, and returns only on failure: an errno, which is negative if `workdir` is the
 * problem. */
static int child_execute(const struct child_options *options, const int *fds)
{
    if (options->kind == CHILD_OF_AGENT)
        child_settle(options);
    else if (fork() != 0)
        _exit(0); /* so that the grandchild has no parent */
    for (int i = 0; i < CHILD_FDS; i++)
        if (fds[i] != i && dup2(fds[i], i) < 0)
            return errno;
    child_hide_files();
    if (options->workdir && chdir(options->workdir) < 0)
        return -errno;
    execve(options->program, options->arguments,
           options->environment ? options->environment : environ);
    return errno;
}

/* Starts the process. Returns its pid, or a negative errno. The child writes its own errors to
 * `failures`. */
static pid_t child_fork(const struct child_options *options, const int *fds, int failures)
{
    bool is_orphan = options->kind == CHILD_OF_NOBODY;
    if (is_orphan) /* otherwise it would become a child of the agent */
        (void)prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
    pid_t pid = fork();
    int problem = errno;
    if (pid == 0) {
        int failure = child_execute(options, fds);
        (void)!write(failures, &failure, sizeof failure); /* the exit code says it, too */
        _exit(127);
    }
    while (is_orphan && pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    if (is_orphan)
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); /* it could be set before */
    return pid < 0 ? -problem : pid;
}

static int child_begin(struct child *child, const struct child_options *options, const int *fds,
                       struct error *err)
{
    bool is_agents = options->kind == CHILD_OF_AGENT;
    int failures[2], failure;
    ssize_t size;
    if (pipe2(failures, O_CLOEXEC) < 0)
        return error_set(err, -errno, "could not make a pipe: %s", strerror(errno));
    pid_t pid = child_fork(options, fds, failures[1]);
    close(failures[1]);
    do {
        size = read(failures[0], &failure, sizeof failure);
    } while (size < 0 && errno == EINTR);
    close(failures[0]);
    if (pid < 0)
        return error_set(err, pid, "could not start a process: %s", strerror(-pid));
    child->pid = is_agents ? pid : 0;
    if (size != (ssize_t)sizeof failure)
        return 0;
    if (is_agents)
        (void)waitpid(pid, NULL, 0); /* it has ended */
    if (failure < 0)
        return error_set_at(err, failure, "workdir", 0, 0, "cannot enter %s: %s", options->workdir,
                            strerror(-failure));
    return error_set(err, -failure, "could not start %s: %s", options->program, strerror(failure));
}

/* --- Start and close -------------------------------------------------------------------------- */

/* The child's standard streams, and the caller's ends of the pipes. -1: this stream is not a pipe.
 */
struct child_ends {
    int theirs[CHILD_FDS], ours[CHILD_FDS];
    int null;
};

/* Closes one side of the pipes. */
static void child_ends_close(const struct child_ends *ends, const int *side)
{
    for (int i = 0; i < CHILD_FDS; i++)
        if (ends->ours[i] >= 0)
            close(side[i]);
}

static int child_ends_open(const struct child_options *options, struct child_ends *ends)
{
    const struct child_stream *streams[CHILD_FDS] = {NULL, &options->out, &options->err};
    for (int i = 0; i < CHILD_FDS; i++) {
        int pipe[2];
        bool is_pipe = i ? child_reads(streams[i]) : options->has_input;
        if (is_pipe && pipe2(pipe, O_CLOEXEC) < 0)
            return -errno;
        if (is_pipe) {
            ends->theirs[i] = pipe[i != 0];
            ends->ours[i] = pipe[i == 0];
        } else if (i && streams[i]->output == CHILD_INHERITS) {
            ends->theirs[i] = i;
        } else if (i && streams[i]->output == CHILD_FILE) {
            ends->theirs[i] = streams[i]->fd;
        } else if (i && streams[i]->output == CHILD_JOINS) {
            ends->theirs[i] = ends->theirs[i - 1];
        } else {
            ends->theirs[i] = ends->null;
        }
    }
    return 0;
}

static struct child *child_new(const struct child_options *options)
{
    struct child *child = xcalloc(1, sizeof *child);
    child->loop = options->loop;
    child->kind = options->kind;
    child->ended = options->ended;
    child->context = options->context;
    child->end.code = -1;
    child->deadline.data = child;
    child->handles = 1;
    uv_timer_init(child->loop, &child->deadline);
    for (unsigned i = 0; i < CHILD_STREAMS; i++) {
        struct child_reader *reader = &child->readers[i];
        reader->child = child;
        reader->stream = i ? options->err : options->out;
        reader->lines.size_max = reader->stream.size_max;
    }
    return child;
}

static void child_open(struct child *child, uv_pipe_t *pipe, int fd)
{
    uv_pipe_init(child->loop, pipe, 0);
    pipe->data = child;
    child->handles++;
    (void)uv_pipe_open(pipe, fd); /* cannot fail for a pipe of our own */
}

/* The child runs. Makes its pipes handles of the loop. */
static void child_attach(struct child *child, const struct child_ends *ends)
{
    child->has_input = ends->ours[0] >= 0;
    if (child->has_input)
        child_open(child, &child->input, ends->ours[0]);
    for (unsigned i = 0; i < CHILD_STREAMS; i++) {
        struct child_reader *reader = &child->readers[i];
        if (ends->ours[i + 1] < 0)
            continue;
        child_open(child, &reader->pipe, ends->ours[i + 1]);
        reader->is_open = true;
        uv_read_start((uv_stream_t *)&reader->pipe, child_read_start, child_read_done);
    }
}

static int child_launch(struct child *child, const struct child_options *options, struct error *err)
{
    struct child_ends ends = {.theirs = {-1, -1, -1}, .ours = {-1, -1, -1}};
    ends.null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int status = ends.null < 0 ? -errno : child_ends_open(options, &ends);
    if (status < 0)
        (void)error_set(err, status, "could not make a pipe: %s", strerror(-status));
    else if (options->kind == CHILD_OF_LOOP)
        status = child_spawn(child, options, ends.theirs, err);
    else
        status = child_begin(child, options, ends.theirs, err);
    child_ends_close(&ends, ends.theirs);
    if (ends.null >= 0)
        close(ends.null);
    if (status < 0) {
        child_ends_close(&ends, ends.ours);
        return status;
    }
    child_attach(child, &ends);
    if (options->deadline_ms)
        uv_timer_start(&child->deadline, child_late, (uint64_t)options->deadline_ms, 0);
    return 0;
}

int child_start(const struct child_options *options, struct child **ret_child, struct error *err)
{
    struct child *child = child_new(options);
    int status = child_launch(child, options, err);
    if (status < 0)
        child_close(child);
    else
        *ret_child = child;
    return status;
}

struct child *child_try(const struct child_options *options)
{
    struct child *child = child_new(options);
    if (child_launch(child, options, NULL) < 0)
        uv_timer_start(&child->deadline, child_never_began, 0, 0);
    return child;
}

void child_close(struct child *child)
{
    if (!child || child->is_closing)
        return;
    child->is_closing = true;
    uv_close((uv_handle_t *)&child->deadline, child_handle_closed);
    if (child->has_process)
        uv_close((uv_handle_t *)&child->process, child_handle_closed);
    if (child->has_input)
        uv_close((uv_handle_t *)&child->input, child_handle_closed);
    for (unsigned i = 0; i < CHILD_STREAMS; i++)
        if (child->readers[i].pipe.data) /* the pipe was opened */
            uv_close((uv_handle_t *)&child->readers[i].pipe, child_handle_closed);
}
