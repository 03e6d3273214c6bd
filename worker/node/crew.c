/* Starts, signals and reaps the ranks of a run on one node. */
#include "worker/node/crew.h"

#include "lib/clock.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "worker/health/memory_kills.h"
#include "worker/node/container.h"
#include "worker/node/rank_environment.h"
#include "worker/node/ranklog.h"
#include "worker/process/child.h"
#include "worker/process/environment.h"
#include "worker/process/job_steps.h"
#include "worker/process/processes.h"
#include "worker/protocol/assignment.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum {
    CREW_GRACE_MS = 1000, /* for leftovers that end by themselves */
    CREW_TEE_MS = 5000,   /* the same if the output is open: a tee of it may have a slow disk */
    CREW_LEFTOVER_MS = 2000,
    CREW_HOLD_MS = 300,
    CREW_REPORT_MS = 50,        /* between two looks for successes to report, after the first one */
    CREW_EXPECT_MS = 1000,      /* for Slurm's signal to reach all nodes */
    CREW_TERM_MS = 5000,        /* between TERM and KILL, but at most half of the time to stop */
    CREW_RUNTIME_MS = 2000,     /* for a runtime to remove its container after KILL */
    CREW_KILL_AGAIN_MS = 200,   /* KILL is repeated for processes that were forked meanwhile */
    CREW_UNKILLABLE_MS = 10000, /* after KILL; then the process is stuck in the kernel */
    CREW_EXIT_BY_SIGNAL = 128,  /* plus the signal: a shell's code for a killed command */
};

/* The processes that show an image as a file system: without them, a program could not save. */
#define CREW_MOUNTS "squashfuse", "squashfuse_ll", "fuse-overlayfs", "fuse2fs", "gocryptfs", NULL
static const char *const crew_mounts[] = {CREW_MOUNTS};
/* The same, and the processes of podman outside of its containers. */
static const char *const crew_runtime[] = {"podman", "conmon", "crun", "runc", CREW_MOUNTS};

struct crew_member {
    struct crew *crew;
    struct crew_rank rank;
    bool is_untold;      /* its success is held back */
    int64_t ended_ms;    /* when it succeeded */
    struct child *child; /* NULL: its output is not read any more */
    int status;          /* of waitpid(), after its end */
};

struct crew {
    struct crew_options options;
    struct crew_member *members; /* never moved, because the loop has pointers to it */
    unsigned count;              /* of started ranks */
    uint64_t began;              /* in ticks since the boot; strangers are older */
    bool has_strangers;          /* processes below the agent that are not of this crew */
    bool has_children;
    bool is_complete; /* each rank that is not over was started */
    bool is_stopping, is_killing, is_gone;
    bool is_clearing;     /* all ranks have ended, and their leftovers are told to end */
    bool was_terminated;  /* Slurm's SIGTERM reached all processes */
    bool knows_job_steps; /* the job steps were told to stop */
    bool was_cut_off;
    bool was_helper_stopped;          /* the stop signal ended a process that is not a rank */
    struct memory_kills memory_kills; /* at the start */
    const struct crew_rank *failed;
    bool is_held;    /* the failure is not reported yet */
    unsigned untold; /* successes that are not reported yet */
    uv_timer_t ladder, holder, expecter, reporter;
    int64_t kill_ms; /* when KILL is due, or was sent first */
    unsigned handles;
    uint64_t printed; /* pieces of output */
};

static void crew_free(struct crew *crew)
{
    for (unsigned i = 0; i < crew->count; i++)
        ranklog_close(crew->members[i].rank.log);
    free(crew->members);
    free(crew);
}

static void crew_timer_closed(uv_handle_t *handle)
{
    struct crew *crew = handle->data;
    if (--crew->handles == 0)
        crew_free(crew);
}

static void crew_close_output(struct crew_member *member)
{
    child_close(member->child);
    member->child = NULL;
}

/* --- The ladder ------------------------------------------------------------------------------- */

static void crew_go(struct crew *crew)
{
    crew->is_gone = true;
    uv_timer_stop(&crew->ladder);
    uv_timer_stop(&crew->holder);
    uv_timer_stop(&crew->expecter);
    uv_timer_stop(&crew->reporter);
    for (unsigned i = 0; i < crew->count; i++) {
        crew_close_output(&crew->members[i]);
        ranklog_end(crew->members[i].rank.log); /* whoever learns of the end may read it at once */
    }
    crew->options.gone(crew->options.context);
}

static bool crew_has_podman(const struct crew *crew)
{
    return crew->options.container && container_is_podman(crew->options.container);
}

/* Signals all processes of the ranks. A runtime removes a container only after its end. */
static void crew_signal_all(const struct crew *crew, int number)
{
    bool is_early = !crew->is_killing || clock_steady_ms() - crew->kill_ms < CREW_RUNTIME_MS;
    bool is_spared = crew->options.container && is_early;
    (void)processes_signal(is_spared ? crew_runtime : NULL, number);
}

/* The ranks must have the signal already: this function reads the environments of processes, and a
 * read blocks as long as a thread of the process is stuck in the kernel with the lock of its
 * address space. */
static unsigned crew_signal_steps(struct crew *crew, int number)
{
    crew->knows_job_steps = true;
    return job_steps_signal(crew->options.assignment->file.run_dir, number);
}

/* Sends KILL repeatedly, because processes may be forked faster than they are found. */
static void crew_ladder_done(uv_timer_t *timer)
{
    struct crew *crew = timer->data;
    int64_t now_ms = clock_steady_ms();
    if (!crew->is_killing) {
        crew->is_killing = true;
        crew->kill_ms = now_ms;
    }
    if (!crew->is_gone)
        crew_signal_all(crew, SIGKILL);
    if (crew_signal_steps(crew, SIGKILL))
        crew->was_cut_off = true;
    if (crew->is_gone)
        return;
    if (now_ms - crew->kill_ms > CREW_UNKILLABLE_MS) {
        crew->was_cut_off = true;
        crew_go(crew);
        return;
    }
    uv_timer_start(&crew->ladder, crew_ladder_done, CREW_KILL_AGAIN_MS, 0);
}

/* Sends TERM to programs with another stop signal. A program that has ignored its stop signal may
 * still release its GPUs and peers more gently than after KILL. */
static void crew_term_done(uv_timer_t *timer)
{
    struct crew *crew = timer->data;
    int64_t left_ms = crew->kill_ms - clock_steady_ms();
    crew_signal_all(crew, SIGTERM);
    if (crew_signal_steps(crew, SIGTERM) || !crew->is_gone)
        crew->was_cut_off = true; /* they may be writing */
    uv_timer_start(timer, crew_ladder_done, left_ms > 0 ? (uint64_t)left_ms : 0, 0);
}

static void crew_kill_within(struct crew *crew, int64_t delay_ms)
{
    int64_t kill_ms = clock_steady_ms() + delay_ms;
    if (crew->is_killing || (crew->kill_ms && crew->kill_ms <= kill_ms))
        return;
    crew->kill_ms = kill_ms;
    bool is_told_otherwise = crew->options.assignment->stop_signal != SIGTERM && !crew->is_clearing;
    int64_t term_ms = delay_ms / 2 < CREW_TERM_MS ? delay_ms / 2 : CREW_TERM_MS;
    if (is_told_otherwise && term_ms > 0)
        uv_timer_start(&crew->ladder, crew_term_done, (uint64_t)(delay_ms - term_ms), 0);
    else
        uv_timer_start(&crew->ladder, crew_ladder_done, (uint64_t)delay_ms, 0);
}

/* Signals what processes_choose() chooses for each rank. */
static void crew_signal(struct crew *crew)
{
    int number = crew->options.assignment->stop_signal;
    if (crew->was_terminated && number == SIGTERM)
        return; /* the ranks have this signal already */
    /* A container of podman is a session of its own. Podman itself would signal only the first
     * process of the container. */
    bool is_inside = crew_has_podman(crew) && processes_stop_children("conmon", number);
    const char *const *spared = is_inside                 ? crew_runtime
                                : crew->options.container ? crew_mounts
                                                          : NULL;
    for (unsigned i = 0; i < crew->count; i++)
        (void)processes_stop(crew->members[i].rank.pid, spared, number); /* may be over */
}

static void crew_expect_done(uv_timer_t *timer)
{
    crew_signal(timer->data);
}

static void crew_stop_ranks(struct crew *crew, unsigned seconds)
{
    bool is_first = !crew->is_stopping;
    crew->is_stopping = true;
    if (is_first)
        crew_signal(crew);
    crew_kill_within(crew, (int64_t)seconds * 1000);
}

void crew_stop(struct crew *crew, unsigned seconds)
{
    crew_stop_ranks(crew, seconds);
    if (!crew->knows_job_steps)
        (void)crew_signal_steps(crew, crew->options.assignment->stop_signal);
}

void crew_expect(struct crew *crew, unsigned seconds, bool shielded)
{
    bool is_first = !crew->is_stopping;
    if (crew->options.assignment->stop_signal != SIGTERM) {
        crew_stop(crew, seconds);
        return;
    }
    if (is_first && !shielded) {
        crew->is_stopping = true;
        uv_timer_start(&crew->expecter, crew_expect_done, CREW_EXPECT_MS, 0);
    }
    crew_stop_ranks(crew, seconds);
}

void crew_kill(struct crew *crew)
{
    crew->is_stopping = true;
    crew_kill_within(crew, 0);
}

void crew_terminated(struct crew *crew)
{
    crew->was_terminated = true;
}

/* --- The end ---------------------------------------------------------------------------------- */

/* Tells leftovers to end. */
static void crew_clear(uv_timer_t *timer)
{
    struct crew *crew = timer->data;
    crew->is_stopping = crew->is_clearing = true;
    crew_signal_all(crew, SIGTERM);
    (void)crew_signal_steps(crew, SIGTERM);
    crew_kill_within(crew, CREW_LEFTOVER_MS);
}

/* Ends the crew if no process is left. If only leftovers are left, they are told to end soon. */
static void crew_check(struct crew *crew)
{
    bool has_output = false;
    for (unsigned i = 0; i < crew->count; i++) {
        if (!crew->members[i].rank.has_ended)
            return;
        has_output |= crew->members[i].child && child_is_read(crew->members[i].child);
    }
    if (crew->is_gone || crew->is_held || crew->untold)
        return;
    if (!crew->has_children && !has_output)
        crew_go(crew);
    bool is_timed = uv_is_active((uv_handle_t *)&crew->ladder);
    uint64_t grace_ms = has_output ? CREW_TEE_MS : CREW_GRACE_MS;
    /* During a stop they may be writing a checkpoint, and the ladder ends them. */
    if (crew->has_children && !crew->is_stopping &&
        (!is_timed || uv_timer_get_due_in(&crew->ladder) > grace_ms))
        uv_timer_start(&crew->ladder, crew_clear, grace_ms, 0);
}

static void crew_hold_done(uv_timer_t *timer)
{
    struct crew *crew = timer->data;
    crew->is_held = false;
    if (!crew->is_stopping && !crew->was_terminated)
        crew->options.failed(crew->options.context, crew->failed);
    crew_check(crew);
}

/* Reports the successes that were held back long enough. */
static void crew_report_done(uv_timer_t *timer)
{
    struct crew *crew = timer->data;
    int64_t now_ms = clock_steady_ms();
    bool is_asked = (crew->is_stopping && !crew->is_clearing) || crew->was_terminated;
    for (unsigned i = 0; i < crew->count; i++) {
        struct crew_member *member = &crew->members[i];
        if (!member->is_untold || now_ms - member->ended_ms < CREW_HOLD_MS)
            continue;
        member->is_untold = false;
        crew->untold--;
        if (!is_asked)
            crew->options.succeeded(crew->options.context, &member->rank);
    }
    if (crew->untold)
        uv_timer_start(&crew->reporter, crew_report_done, CREW_REPORT_MS, 0);
    crew_check(crew);
}

static void crew_hold_success(struct crew *crew, struct crew_member *member)
{
    if (!crew->options.succeeded || crew->is_stopping || crew->was_terminated)
        return;
    member->is_untold = true;
    member->ended_ms = clock_steady_ms();
    if (crew->untold++ == 0)
        uv_timer_start(&crew->reporter, crew_report_done, CREW_HOLD_MS, 0);
}

/* Whether the processes were sent this signal to stop them. */
static bool crew_is_asked(const struct crew *crew, int signal)
{
    return (crew->is_stopping || crew->was_terminated) &&
           (signal == crew->options.assignment->stop_signal || signal == SIGTERM);
}

/* Adds how the rank ended to its newest lines, because no program prints it. */
static void crew_note_end(struct crew *crew, struct crew_member *member)
{
    int code = member->rank.code, number = member->rank.signal;
    bool was_killed = number == SIGKILL || code == CREW_EXIT_BY_SIGNAL + SIGKILL;
    struct memory_kills now;
    struct text line = {0};
    memory_kills_read("", &now);
    if (number)
        text_addf(&line, "was killed by signal %d (%s)", number, strsignal(number));
    else
        text_addf(&line, "exited with code %d", code);
    if (memory_kills_tell(&crew->memory_kills, &now, was_killed))
        text_add(&line, ": a process was killed by the kernel's OOM killer");
    ranklog_note(member->rank.log, text_string(&line));
    text_fini(&line);
}

static void crew_member_ended(struct crew *crew, struct crew_member *member, int status)
{
    member->rank.has_ended = true;
    member->status = status;
    member->rank.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    member->rank.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    /* A runtime ends with a code when a signal has ended the program. */
    int number = member->rank.code - CREW_EXIT_BY_SIGNAL;
    if (crew->options.container && number > 0 && crew_is_asked(crew, number)) {
        member->rank.code = 0;
        member->rank.signal = number;
    }
    bool is_failure = member->rank.code || member->rank.signal;
    bool is_asked = crew_is_asked(crew, member->rank.signal);
    if ((member->rank.signal && !is_asked) || member->rank.code > CREW_EXIT_BY_SIGNAL)
        crew->was_cut_off = true;
    if (is_failure && !crew->is_stopping)
        crew_note_end(crew, member);
    if (!is_failure)
        crew_hold_success(crew, member);
    if (!is_failure || crew->failed)
        return;
    crew->failed = &member->rank;
    if (crew->is_stopping)
        return;
    crew->is_held = true;
    uv_timer_start(&crew->holder, crew_hold_done, CREW_HOLD_MS, 0);
}

/* A process that is not a rank has died of a signal. */
static void crew_helper_died(struct crew *crew, int signal)
{
    if (crew_is_asked(crew, signal))
        crew->was_helper_stopped = true;
    else if (!crew->is_clearing)
        crew->was_cut_off = true;
}

void crew_reap(struct crew *crew)
{
    int status;
    uint64_t started;
    pid_t pid;
    while ((pid = processes_reap(&status, &started)) > 0) {
        bool is_stranger = started && started < crew->began;
        unsigned i = 0;
        while (i < crew->count && crew->members[i].rank.pid != pid)
            i++;
        if (i < crew->count && !crew->members[i].rank.has_ended)
            crew_member_ended(crew, &crew->members[i], status);
        else if (WIFSIGNALED(status) && !is_stranger)
            crew_helper_died(crew, WTERMSIG(status));
    }
    if (pid < 0)
        crew->has_strangers = false;
    crew->has_children = pid == 0 && (!crew->has_strangers || processes_any_since(crew->began));
    for (unsigned i = 0; i < crew->count; i++) {
        struct crew_member *member = &crew->members[i];
        if (member->rank.has_ended && member->child && child_pid(member->child))
            child_reaped(member->child, member->status);
    }
    crew_check(crew);
}

/* --- Output ----------------------------------------------------------------------------------- */

static void crew_member_printed(void *context, const char *data, size_t size)
{
    struct crew_member *member = context;
    struct crew *crew = member->crew;
    crew->printed++;
    member->rank.printed++;
    ranklog_feed(member->rank.log, data, size);
    if (member == crew->members)
        crew->options.printed(crew->options.context, data, size);
}

static void crew_member_read(void *context, const struct child_end *end)
{
    struct crew_member *member = context;
    (void)end; /* crew_reap() has the status */
    crew_check(member->crew);
}

/* --- Start and close -------------------------------------------------------------------------- */

static int crew_start_member(struct crew *crew, struct child_options *start, unsigned local_rank,
                             struct error *err)
{
    const struct crew_options *options = &crew->options;
    struct crew_member *member = &crew->members[crew->count];
    rank_environment_set_rank(options->environment, options->assignment, options->place,
                              local_rank);
    start->environment = options->environment->entries;
    start->context = member;
    int status = child_start(start, &member->child, err);
    if (status < 0)
        return status;
    member->crew = crew;
    member->rank.pid = child_pid(member->child);
    member->rank.local_rank = local_rank;
    member->rank.rank = options->first_rank + local_rank;
    member->rank.log = ranklog_open(options->log_folder, member->rank.rank, 0);
    crew->count++;
    crew->has_children = true;
    return 0;
}

static struct crew *crew_new(const struct crew_options *options)
{
    struct crew *crew = xcalloc(1, sizeof *crew);
    crew->members = xcalloc(options->count, sizeof *crew->members);
    crew->options = *options;
    uv_timer_t *const timers[] = {&crew->ladder, &crew->holder, &crew->expecter, &crew->reporter};
    for (size_t i = 0; i < sizeof timers / sizeof timers[0]; i++) {
        uv_timer_init(options->loop, timers[i]);
        timers[i]->data = crew;
        crew->handles++;
    }
    return crew;
}

/* Kills what the preflight or an earlier run has left below the agent. A process that is stuck in
 * the kernel dies later or never, and its end says nothing about this crew. Waits for the next tick
 * so that each such process is older than the crew. */
static void crew_set_strangers_apart(struct crew *crew)
{
    int status;
    pid_t pid;
    while ((pid = processes_reap(&status, NULL)) > 0)
        ;
    crew->has_strangers = pid == 0;
    crew->began = processes_now();
    if (!crew->has_strangers)
        return;
    (void)processes_signal(NULL, SIGKILL);
    crew->began = processes_now() + 1;
    do {
        (void)processes_signal(NULL, SIGKILL); /* processes that were forked meanwhile */
        (void)poll(NULL, 0, 1);
    } while (processes_now() < crew->began);
}

int crew_start(const struct crew_options *options, struct crew **ret_crew, struct error *err)
{
    const struct assignment *assignment = options->assignment;
    struct crew *crew = crew_new(options);
    char *script = text_format("%s/%s", assignment->file.run_dir, options->script);
    struct text workdir = {0};
    int status = 0;
    crew_set_strangers_apart(crew);
    memory_kills_read("", &crew->memory_kills);
    if (assignment->workdir)
        environment_expand(options->environment, assignment->workdir, &workdir);
    char *command = options->container ? container_start(options->container, script) : NULL;
    char *const arguments[] = {"bash",  "-eu", "-o", "pipefail", command ? "-c" : script,
                               command, NULL};
    struct child_options start = {
        .loop = options->loop,
        .kind = CHILD_OF_AGENT,
        .program = "/bin/bash",
        .arguments = arguments,
        .workdir = assignment->workdir ? text_string(&workdir) : NULL,
        .ignores_term = assignment->stop_signal != SIGTERM,
        .out = {.output = CHILD_BYTES, .found = crew_member_printed},
        .err = {.output = CHILD_JOINS},
        .ended = crew_member_read,
    };
    for (unsigned i = 0; i < options->count && status == 0; i++)
        if (!options->is_over || !options->is_over(options->context, i))
            status = crew_start_member(crew, &start, i, err);
    crew->is_complete = status == 0;
    if (status < 0 && crew->count)
        crew_kill(crew);
    else if (crew->count == 0)
        crew->is_gone = true;
    free(script);
    free(command);
    text_fini(&workdir);
    *ret_crew = crew;
    return status;
}

uint64_t crew_began(const struct crew *crew)
{
    return crew->began;
}

bool crew_is_gone(const struct crew *crew)
{
    return crew->is_gone;
}

bool crew_is_stopping(const struct crew *crew)
{
    return crew->is_stopping;
}

uint64_t crew_printed(const struct crew *crew)
{
    return crew->printed;
}

unsigned crew_count(const struct crew *crew)
{
    return crew->count;
}

const struct crew_rank *crew_rank(const struct crew *crew, unsigned i)
{
    return &crew->members[i].rank;
}

const struct crew_rank *crew_failed(const struct crew *crew)
{
    return crew->failed;
}

bool crew_ended_well(const struct crew *crew)
{
    bool was_asked = (crew->is_stopping && !crew->is_clearing) || crew->was_terminated;
    for (unsigned i = 0; i < crew->count; i++) {
        const struct crew_rank *rank = &crew->members[i].rank;
        if (!rank->has_ended || rank->code || rank->signal)
            return false;
    }
    return crew->is_complete && !was_asked;
}

bool crew_was_cut_off(const struct crew *crew)
{
    /* A shell dies of the stop signal at once while its command still saves. A helper, such as a
     * data loader, may die of the stop signal while its rank ends by itself. So only both together
     * show that something was cut off. */
    bool has_dead_rank = false;
    for (unsigned i = 0; i < crew->count; i++)
        has_dead_rank |= crew->members[i].rank.signal != 0;
    return crew->was_cut_off || (crew->was_helper_stopped && has_dead_rank);
}

void crew_close(struct crew *crew)
{
    if (!crew)
        return;
    if (!crew->is_gone)
        (void)processes_signal(NULL, SIGKILL);
    (void)job_steps_signal(crew->options.assignment->file.run_dir, SIGKILL);
    crew->is_gone = true;
    for (unsigned i = 0; i < crew->count; i++)
        crew_close_output(&crew->members[i]);
    uv_close((uv_handle_t *)&crew->ladder, crew_timer_closed);
    uv_close((uv_handle_t *)&crew->holder, crew_timer_closed);
    uv_close((uv_handle_t *)&crew->expecter, crew_timer_closed);
    uv_close((uv_handle_t *)&crew->reporter, crew_timer_closed);
}
