/* Running phase-preflight. The agent reaps all of its children by itself, so libuv must not start
 * this one. */
#include "worker/node/nodecheck.h"

#include "lib/file.h"
#include "lib/memory.h"
#include "lib/place.h"
#include "lib/text.h"
#include "worker/protocol/assignment.h"
#include "worker/clock.h"
#include "worker/node/nodecheck_report.h"
#include "worker/process/processes.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    NODECHECK_QUICK_MS = 30000, /* for all tries */
    NODECHECK_FULL_MS = 90000,
    NODECHECK_DRIVER_MS = 15000, /* for the driver to wake up eight GPUs, should they sleep */
    NODECHECK_AGAIN_MS = 2000,   /* between tries */
    NODECHECK_TRIES = 3,
    NODECHECK_KILLED_MS = 1000, /* for a killed one to be gone, unless it hangs in the kernel */
    NODECHECK_OUTPUT_MAX = 65536,
    NODECHECK_ARGUMENTS = 24,
};

struct nodecheck {
    struct nodecheck_options options;
    char *program;
    int64_t start_ms, limit_ms;
    unsigned tries;
    pid_t pid; /* 0: none runs */
    int status;
    bool is_reading, is_late, is_closing;
    char *failed; /* why it could not be started */
    uv_pipe_t output;
    uv_timer_t timer; /* the deadline, the pause before the next try, or the answer at once */
    struct text text;
    unsigned handles;
    char buffer[4096];
};

/* Owns its words. */
struct nodecheck_command {
    char *words[NODECHECK_ARGUMENTS];
    size_t count;
};

static void nodecheck_closed(uv_handle_t *handle)
{
    struct nodecheck *check = handle->data;
    if (--check->handles || !check->is_closing)
        return;
    text_fini(&check->text);
    free(check->failed);
    free(check->program);
    free(check);
}

static void nodecheck_stop_reading(struct nodecheck *check)
{
    if (!check->is_reading)
        return;
    check->is_reading = false;
    uv_close((uv_handle_t *)&check->output, nodecheck_closed);
}

static void nodecheck_try(uv_timer_t *timer);

static int64_t nodecheck_left_ms(const struct nodecheck *check)
{
    int64_t left = check->start_ms + check->limit_ms - clock_steady_ms();
    return left > 0 ? left : 0;
}

static void nodecheck_tell(struct nodecheck *check)
{
    const struct nodecheck_end end = {
        .output = text_string(&check->text),
        .size = check->text.size,
        .status = check->status,
        .is_late = check->is_late,
        .failed = check->failed,
        .limit_s = (double)check->limit_ms / 1000,
    };
    json_t *report = nodecheck_report(check->options.assignment->preflight, &end);
    bool has_time = nodecheck_left_ms(check) > 2 * NODECHECK_AGAIN_MS;
    if (check->tries < NODECHECK_TRIES && has_time && nodecheck_may_pass_later(report)) {
        json_decref(report);
        uv_timer_start(&check->timer, nodecheck_try, NODECHECK_AGAIN_MS, 0);
        return;
    }
    uv_timer_stop(&check->timer);
    double seconds = (double)(clock_steady_ms() - check->start_ms) / 1000;
    json_object_set_new(report, "seconds", json_real(seconds));
    check->options.done(check->options.context, report);
}

/* The program has ended and all that it printed is read. */
static void nodecheck_look(struct nodecheck *check)
{
    if (!check->pid && !check->is_reading && !check->is_late)
        nodecheck_tell(check);
}

static void nodecheck_give_up(uv_timer_t *timer)
{
    nodecheck_tell(timer->data);
}

static void nodecheck_late(uv_timer_t *timer)
{
    struct nodecheck *check = timer->data;
    check->is_late = true;
    nodecheck_stop_reading(check);
    if (check->pid)
        (void)processes_signal_group(check->pid, SIGKILL); /* it may have ended just now */
    uv_timer_start(timer, nodecheck_give_up, NODECHECK_KILLED_MS, 0);
}

void nodecheck_reap(struct nodecheck *check)
{
    int status;
    pid_t pid;
    while ((pid = processes_reap(&status)) > 0) {
        if (pid != check->pid)
            continue; /* a child that the program has left behind */
        check->pid = 0;
        check->status = status;
        nodecheck_look(check);
    }
}

static void nodecheck_read_start(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buffer)
{
    struct nodecheck *check = handle->data;
    (void)suggested;
    *ret_buffer = uv_buf_init(check->buffer, sizeof(check->buffer));
}

static void nodecheck_read_done(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct nodecheck *check = stream->data;
    if (size > 0 && check->text.size + (size_t)size <= NODECHECK_OUTPUT_MAX)
        text_add_bytes(&check->text, buffer->base, (size_t)size);
    if (size >= 0)
        return;
    nodecheck_stop_reading(check);
    nodecheck_look(check);
}

__attribute__((format(printf, 2, 3))) static void nodecheck_add(struct nodecheck_command *command,
                                                                const char *format, ...)
{
    struct text word = {0};
    va_list args;
    assert(command->count + 1 < NODECHECK_ARGUMENTS); /* and the NULL */
    va_start(args, format);
    text_addv(&word, format, args);
    va_end(args);
    command->words[command->count++] = text_steal(&word);
}

/* Which GPUs work together, of all nodes: that is what the full level measures. */
static void nodecheck_add_layout(const struct nodecheck *check, struct nodecheck_command *command)
{
    const struct assignment *assignment = check->options.assignment;
    char *groups =
        nodecheck_groups(&assignment->parallel, assignment->launch == ASSIGNMENT_LAUNCH_GROUP);
    if (groups) {
        nodecheck_add(command, "--groups");
        nodecheck_add(command, "%s", groups);
    }
    free(groups);
    if (assignment->nodes < 2)
        return;
    char *folder = text_format("%s/preflight/%u", assignment->run_dir, check->tries);
    (void)file_make_folders(folder, 0700, NULL); /* else the row says that it is not there */
    nodecheck_add(command, "--nodes=%u", assignment->nodes);
    nodecheck_add(command, "--node=%u", check->options.node_index);
    nodecheck_add(command, "--rendezvous=%s", folder);
    free(folder);
}

/* What the agent itself has is Slurm's: the devices, the number of GPUs, the folder for scratch. */
static void nodecheck_command(const struct nodecheck *check, struct nodecheck_command *command)
{
    const struct assignment *assignment = check->options.assignment;
    bool is_full = text_equal(assignment->preflight, "full");
    char model[NODECHECK_MODEL_SIZE];
    nodecheck_add(command, "%s", check->program);
    nodecheck_add(command, "--json");
    nodecheck_add(command, "--level=%s", assignment->preflight);
    nodecheck_add(command, "--deadline-ms=%d", NODECHECK_DRIVER_MS);
    /* A job may have more than this run of it needs, as after a promotion in place. */
    if (is_full || !getenv("SLURM_GPUS_ON_NODE"))
        nodecheck_add(command, "--gpus=%u", assignment->gpus);
    if (assignment->gpu_type && nodecheck_model(assignment->gpu_type, model))
        nodecheck_add(command, "--model=%s", model);
    if (is_full)
        nodecheck_add_layout(check, command);
}

/* Returns 0 or an errno. `output` becomes its standard output. */
static int nodecheck_spawn(struct nodecheck *check, int output)
{
    struct nodecheck_command command = {0};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    nodecheck_command(check, &command);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    int result =
        posix_spawn(&check->pid, check->program, &files, &attributes, command.words, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    for (size_t i = 0; i < command.count; i++)
        free(command.words[i]);
    if (result != 0)
        check->pid = 0;
    return result;
}

static int nodecheck_run(struct nodecheck *check)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return errno;
    int result = nodecheck_spawn(check, ends[1]);
    close(ends[1]);
    if (result != 0) {
        close(ends[0]);
        return result;
    }
    uv_pipe_init(check->options.loop, &check->output, 0);
    check->output.data = check;
    check->is_reading = true;
    check->handles++;
    if (uv_pipe_open(&check->output, ends[0]) < 0 ||
        uv_read_start((uv_stream_t *)&check->output, nodecheck_read_start, nodecheck_read_done) < 0)
        nodecheck_stop_reading(check); /* what it says is lost: the same as none */
    return 0;
}

static void nodecheck_try(uv_timer_t *timer)
{
    struct nodecheck *check = timer->data;
    check->tries++;
    text_clear(&check->text);
    int result = nodecheck_run(check);
    if (result == 0) {
        uv_timer_start(timer, nodecheck_late, (uint64_t)nodecheck_left_ms(check), 0);
        return;
    }
    check->failed = text_format("could not start %s: %s", check->program, strerror(result));
    nodecheck_tell(check);
}

struct nodecheck *nodecheck_start(const struct nodecheck_options *options)
{
    struct nodecheck *check = xcalloc(1, sizeof(*check));
    check->options = *options;
    check->program = place_program("phase-preflight");
    check->limit_ms =
        text_equal(options->assignment->preflight, "full") ? NODECHECK_FULL_MS : NODECHECK_QUICK_MS;
    check->start_ms = clock_steady_ms();
    uv_timer_init(options->loop, &check->timer);
    check->timer.data = check;
    check->handles = 1;
    uv_timer_start(&check->timer, nodecheck_try, 0, 0);
    return check;
}

void nodecheck_close(struct nodecheck *check)
{
    if (!check)
        return;
    if (check->pid)
        (void)processes_signal_group(check->pid, SIGKILL); /* the agent, or its end, reaps it */
    check->is_closing = true;
    nodecheck_stop_reading(check);
    uv_close((uv_handle_t *)&check->timer, nodecheck_closed);
}
