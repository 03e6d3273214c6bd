/* Starts phase-preflight, and reads its report. */
#include "worker/node/nodecheck.h"

#include "lib/clock.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/place.h"
#include "lib/protocol/entry.h"
#include "lib/text.h"
#include "worker/node/nodecheck_report.h"
#include "worker/process/child.h"
#include "worker/process/processes.h"
#include "worker/protocol/assignment.h"

#include <assert.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
    NODECHECK_QUICK_MS = 30000, /* for all tries */
    NODECHECK_FULL_MS = 90000,
    NODECHECK_DRIVER_MS = 15000, /* for the driver to wake up eight GPUs */
    NODECHECK_AGAIN_MS = 2000,   /* between two tries */
    NODECHECK_TRIES = 3,
    NODECHECK_KILLED_MS = 1000, /* for a killed process to be gone, unless it is stuck */
    NODECHECK_OUTPUT_MAX = 65536,
    NODECHECK_ARGUMENTS = 24,
};

struct nodecheck {
    struct nodecheck_options options;
    char *program;
    int64_t start_ms, limit_ms;
    unsigned tries;
    struct child *child; /* the newest try; NULL: it could not be started */
    int status;
    bool is_late;
    char *failed;     /* why it could not be started; or NULL */
    uv_timer_t timer; /* until the deadline, the next try, or an immediate answer */
};

/* The arguments of a command. It owns its words. */
struct nodecheck_command {
    char *words[NODECHECK_ARGUMENTS];
    size_t count;
};

static void nodecheck_closed(uv_handle_t *handle)
{
    struct nodecheck *check = handle->data;
    free(check->failed);
    free(check->program);
    free(check);
}

/* Kills the running preflight with its group, and so also a process that it is just forking. The
 * agent reaps the preflight, or the kernel does when the agent ends. */
static void nodecheck_kill(struct nodecheck *check)
{
    if (check->child && child_pid(check->child))
        (void)kill(-child_pid(check->child), SIGKILL); /* it may have ended */
}

static void nodecheck_try(uv_timer_t *timer);

static int64_t nodecheck_left_ms(const struct nodecheck *check)
{
    int64_t left = check->start_ms + check->limit_ms - clock_steady_ms();
    return left > 0 ? left : 0;
}

static void nodecheck_tell(struct nodecheck *check)
{
    static const struct text nothing;
    const struct text *text = check->child ? child_text(check->child) : &nothing;
    const struct nodecheck_end end = {
        .output = text_string(text),
        .size = text->size,
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
    struct entry entry = entry_of(ENTRY_PREFLIGHT, report);
    entry.seconds = (double)(clock_steady_ms() - check->start_ms) / 1000;
    entry.is_observe = check->options.assignment->preflight_observes;
    check->options.done(check->options.context, &entry);
    json_decref(report);
}

static void nodecheck_ended(void *context, const struct child_end *end)
{
    struct nodecheck *check = context;
    (void)end;
    if (!check->is_late)
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
    nodecheck_kill(check);
    uv_timer_start(timer, nodecheck_give_up, NODECHECK_KILLED_MS, 0);
}

void nodecheck_reap(struct nodecheck *check)
{
    int status;
    pid_t pid;
    while ((pid = processes_reap(&status, NULL)) > 0) {
        if (!check->child || pid != child_pid(check->child))
            continue; /* a child that the program has left behind */
        check->status = status;
        child_reaped(check->child, status);
    }
}

__attribute__((format(printf, 2, 3))) static void nodecheck_add(struct nodecheck_command *command,
                                                                const char *format, ...)
{
    struct text word = {0};
    va_list args;
    assert(command->count + 1 < NODECHECK_ARGUMENTS); /* plus the NULL at the end */
    va_start(args, format);
    text_addv(&word, format, args);
    va_end(args);
    command->words[command->count++] = text_steal(&word);
}

/* Adds which GPUs of all nodes work together, because the full level measures them together. With
 * `launch: group`, groups do not reduce with each other. Stages of a pipeline do not do so either,
 * so all groups are passed as stages. */
static void nodecheck_add_layout(const struct nodecheck *check, struct nodecheck_command *command)
{
    const struct assignment *assignment = check->options.assignment;
    const struct assignment_sizes *sizes = &assignment->parallel;
    bool is_group = assignment->launch == ASSIGNMENT_LAUNCH_GROUP;
    if (sizes->tensor)
        nodecheck_add(command, "--parallel=tensor=%u,pipeline=%u,data=%u", sizes->tensor,
                      is_group ? sizes->pipeline * sizes->data : sizes->pipeline,
                      is_group ? 1 : sizes->data);
    if (assignment->nodes < 2)
        return;
    /* A try that is repeated has not met the other nodes, which may be waiting here. */
    char *folder = text_format("%s/preflight", assignment->file.run_dir);
    (void)file_make_folders(folder, 0700, NULL); /* if this fails, a row of the report says so */
    nodecheck_add(command, "--nodes=%u", assignment->nodes);
    nodecheck_add(command, "--node=%u", check->options.node_index);
    nodecheck_add(command, "--rendezvous=%s", folder);
    free(folder);
}

/* The agent's own environment is that of Slurm, with the devices, the number of GPUs and the
 * scratch folder. */
static void nodecheck_command(const struct nodecheck *check, struct nodecheck_command *command)
{
    const struct assignment *assignment = check->options.assignment;
    bool is_full = text_equal(assignment->preflight, "full");
    char model[NODECHECK_MODEL_SIZE];
    nodecheck_add(command, "%s", check->program);
    nodecheck_add(command, "--json");
    nodecheck_add(command, "--level=%s", assignment->preflight);
    nodecheck_add(command, "--deadline-ms=%d", NODECHECK_DRIVER_MS);
    /* A job may have more GPUs than the run needs, for example if it has whole nodes. The quick
     * level judges all of them, and the full level measures as many as the run needs. */
    if (is_full || !getenv("SLURM_GPUS_ON_NODE"))
        nodecheck_add(command, "--gpus=%u", assignment->gpus);
    if (assignment->gpu_type && nodecheck_model(assignment->gpu_type, model))
        nodecheck_add(command, "--model=%s", model);
    if (is_full)
        nodecheck_add_layout(check, command);
}

static int nodecheck_run(struct nodecheck *check, struct error *err)
{
    struct nodecheck_command command = {0};
    nodecheck_command(check, &command);
    const struct child_options options = {
        .loop = check->options.loop,
        .kind = CHILD_OF_AGENT,
        .program = check->program,
        .arguments = command.words,
        .out = {.output = CHILD_TEXT, .size_max = NODECHECK_OUTPUT_MAX},
        .err = {.output = CHILD_INHERITS},
        .ended = nodecheck_ended,
        .context = check,
    };
    int status = child_start(&options, &check->child, err);
    for (size_t i = 0; i < command.count; i++)
        free(command.words[i]);
    return status;
}

static void nodecheck_try(uv_timer_t *timer)
{
    struct nodecheck *check = timer->data;
    struct error err;
    check->tries++;
    child_close(check->child);
    check->child = NULL;
    if (nodecheck_run(check, &err) == 0) {
        uv_timer_start(timer, nodecheck_late, (uint64_t)nodecheck_left_ms(check), 0);
        return;
    }
    check->failed = xstrdup(err.message);
    nodecheck_tell(check);
}

struct nodecheck *nodecheck_start(const struct nodecheck_options *options)
{
    struct nodecheck *check = xcalloc(1, sizeof *check);
    check->options = *options;
    check->program = place_program("phase-preflight");
    check->limit_ms =
        text_equal(options->assignment->preflight, "full") ? NODECHECK_FULL_MS : NODECHECK_QUICK_MS;
    check->start_ms = clock_steady_ms();
    uv_timer_init(options->loop, &check->timer);
    check->timer.data = check;
    uv_timer_start(&check->timer, nodecheck_try, 0, 0);
    return check;
}

void nodecheck_close(struct nodecheck *check)
{
    if (!check)
        return;
    nodecheck_kill(check);
    child_close(check->child);
    uv_close((uv_handle_t *)&check->timer, nodecheck_closed);
}
