/* Starts the measuring program, and reads its lines until the deadline. */
#include "worker/preflight/probe.h"

#include "lib/clock.h"
#include "lib/text.h"
#include "worker/preflight/groups.h"
#include "worker/preflight/measures.h"
#include "worker/preflight/thresholds.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    PROBE_CANNOT_START = 127, /* exit code of a shell, and of the loader if a library is missing */
    PROBE_LINE_SIZE = 512,
    PROBE_GRACE_MS = 1000, /* at least this time to end after the last line */
};

/* The time of a row. A start of CUDA or NCCL does not count for the deadline of the row. */
struct probe_time {
    int64_t since_ms, end_ms; /* the last turn from or to a start; the end of the full level */
    int64_t start_ms, row_ms; /* for each start; for the row */
    int64_t used_ms;          /* of `row_ms`, before `since_ms` */
    bool is_ready;            /* no start is going on */
};

/* Runs only in the child. The child has slightly shorter deadlines, so that it can still say what
 * it was waiting for. */
static void probe_become(const struct probe *probe, enum figure_row row,
                         const struct thresholds_row *how, const struct probe_time *time,
                         int output)
{
    struct text groups = {0};
    char size[24], deadline[24], start[24], gpus[16], nodes[16], node[16];
    int nowhere = open("/dev/null", O_RDWR);
    groups_text(probe->groups, &groups);
    (void)snprintf(size, sizeof size, "%llu", (unsigned long long)how->size.value);
    (void)snprintf(deadline, sizeof deadline, "%lld", (long long)time->row_ms * 9 / 10);
    (void)snprintf(start, sizeof start, "%lld", (long long)time->start_ms * 9 / 10);
    (void)snprintf(gpus, sizeof gpus, "%u", probe->groups->rank_count_of_node);
    (void)snprintf(nodes, sizeof nodes, "%u",
                   probe->groups->rank_count / probe->groups->rank_count_of_node);
    (void)snprintf(node, sizeof node, "%u", probe->node);
    if (nowhere < 0 || dup2(nowhere, STDIN_FILENO) < 0 || dup2(nowhere, STDERR_FILENO) < 0 ||
        dup2(output, STDOUT_FILENO) < 0)
        _exit(PROBE_CANNOT_START);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* best effort: the parent has the deadline */
    if (setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1) < 0 ||
        setenv("CUDA_VISIBLE_DEVICES", probe->visible, 1) < 0)
        _exit(PROBE_CANNOT_START);
    const char *rendezvous = probe->rendezvous ? probe->rendezvous : "";
    (void)execl(probe->program, probe->program, "--row", figure_rows[row], "--size", size,
                "--deadline-ms", deadline, "--start-ms", start, "--gpus", gpus, "--groups",
                text_string(&groups), "--nodes", nodes, "--node", node, "--rendezvous", rendezvous,
                (char *)NULL);
    _exit(PROBE_CANNOT_START);
}

/* Takes the lines in `buffer`, and leaves a line that has not ended. Returns whether the last line
 * came. */
static bool probe_take_lines(enum figure_row row, char *buffer, size_t *size,
                             struct measures *measures)
{
    char *line = buffer;
    buffer[*size] = '\0';
    for (char *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        /* A line that a library printed is not a figure, and a missing figure is noticed. */
        (void)measures_take_line(measures, row, line);
    }
    *size = strlen(line);
    memmove(buffer, line, *size);
    return measures->is_whole[row];
}

/* Returns when the current start is late or, without a start, the row. */
static int64_t probe_due_ms(const struct probe_time *time)
{
    int64_t least_ms = time->is_ready ? time->row_ms - time->used_ms : time->start_ms;
    return time->end_ms < time->since_ms + least_ms ? time->end_ms : time->since_ms + least_ms;
}

/* Notices that a start has begun or ended. */
static void probe_turn(struct probe_time *time, bool is_ready)
{
    int64_t now_ms = clock_steady_ms();
    if (is_ready == time->is_ready)
        return;
    if (time->is_ready)
        time->used_ms += now_ms - time->since_ms;
    time->is_ready = is_ready;
    time->since_ms = now_ms;
}

/* Reads until the last line, the end of the program, or a deadline. Returns whether it was in
 * time. */
static bool probe_receive(int input, enum figure_row row, struct probe_time *time,
                          struct measures *measures)
{
    char buffer[PROBE_LINE_SIZE + 1];
    for (size_t size = 0;;) {
        int64_t left_ms = probe_due_ms(time) - clock_steady_ms();
        struct pollfd wait = {.fd = input, .events = POLLIN};
        if (left_ms <= 0)
            return false;
        if (poll(&wait, 1, (int)left_ms) <= 0)
            continue; /* an interruption, or the deadline, which the loop checks next */
        if (size == PROBE_LINE_SIZE)
            size = 0; /* the program prints no such long line */
        ssize_t got = read(input, buffer + size, PROBE_LINE_SIZE - size);
        if (got <= 0)
            return true;
        size += (size_t)got;
        if (probe_take_lines(row, buffer, &size, measures))
            return true;
        probe_turn(time, measures->is_ready[row]);
    }
}

/* Waits for the child to end, until the deadline of the row or a moment longer: it may be closing
 * its links to other GPUs, which a kill can disturb. Returns whether it has ended. */
static bool probe_wait(pid_t child, int64_t end_ms, int *ret_status)
{
    int64_t least_ms = clock_steady_ms() + PROBE_GRACE_MS;
    for (end_ms = end_ms > least_ms ? end_ms : least_ms; clock_steady_ms() < end_ms;) {
        struct timespec moment = {.tv_nsec = 5000000};
        if (waitpid(child, ret_status, WNOHANG) == child)
            return true;
        (void)nanosleep(&moment, NULL); /* a shorter sleep after a signal is fine */
    }
    return false;
}

static bool probe_crosses_nodes(const struct groups *groups)
{
    for (unsigned round = 0; round < groups->round_count; round++)
        for (unsigned group = 0; group < groups->rounds[round].group_count; group++)
            if (groups_nodes(groups, round, group) > 1)
                return true;
    return false;
}

/* Says that the row is late. The node has failed only if the row had all of its own time. */
static void probe_blame_late(const struct probe *probe, enum figure_row row,
                             const struct probe_time *time, struct measures *measures)
{
    /* If other nodes take part, nobody knows which node is at fault, and each would blame
     * itself. */
    bool is_shared = row == FIGURE_ROW_ALLREDUCE && probe_crosses_nodes(probe->groups);
    bool is_cut = time->end_ms < time->since_ms + time->row_ms - time->used_ms;
    int64_t waited_ms = probe_due_ms(time) - time->since_ms;
    const char *others = is_shared ? ", on this node or another" : "";
    if (!time->is_ready)
        measures_add_trouble(measures, MEASURE_UNKNOWN, row,
                             "CUDA or NCCL did not start in %.1f s%s", (double)waited_ms / 1000,
                             others);
    else if (is_cut)
        measures_add_trouble(measures, MEASURE_UNKNOWN, row,
                             "no answer: the starts of CUDA and NCCL left only %.1f s for the row",
                             (double)(time->used_ms + waited_ms) / 1000);
    else
        measures_add_trouble(measures, is_shared ? MEASURE_UNKNOWN : MEASURE_FAILED, row,
                             "no answer in %.1f s%s", (double)time->row_ms / 1000,
                             is_shared ? ", from this node or another" : "");
}

/* Says what is wrong with a program that ended, or closed its output, without its last line.
 * Returns whether the program has ended. */
static bool probe_blame_end(const struct probe *probe, enum figure_row row, pid_t child,
                            struct measures *measures)
{
    int status = 0;
    if (!probe_wait(child, 0, &status)) {
        measures_add_trouble(measures, MEASURE_FAILED, row, "the measuring process does not end");
        return false;
    }
    if (WIFSIGNALED(status))
        measures_add_trouble(measures, MEASURE_FAILED, row,
                             "the measuring process ended early by signal %d", WTERMSIG(status));
    else if (WEXITSTATUS(status) == PROBE_CANNOT_START)
        measures_add_trouble(measures, MEASURE_UNKNOWN, row,
                             "%s is missing (built without CUDA), or a library of CUDA is missing",
                             probe->program);
    else
        measures_add_trouble(measures, MEASURE_UNKNOWN, row,
                             "the measuring process ended early with exit code %d",
                             WEXITSTATUS(status));
    return true;
}

void probe_take(const struct probe *probe, enum figure_row row, const struct thresholds_row *how,
                int64_t end_ms, struct measures *measures)
{
    int pipe_ends[2], status;
    struct probe_time time = {.since_ms = clock_steady_ms(),
                              .end_ms = end_ms,
                              .start_ms = (int64_t)probe->start_s * 1000,
                              .row_ms = (int64_t)how->seconds.value * 1000};
    measures->is_taken[row] = true;
    if (end_ms <= time.since_ms) {
        measures_add_trouble(measures, MEASURE_UNKNOWN, row, "no time is left");
        return;
    }
    pid_t child = pipe2(pipe_ends, O_CLOEXEC) < 0 ? -2 : fork();
    if (child < 0) {
        measures_add_trouble(measures, MEASURE_UNKNOWN, row,
                             "cannot start the measuring process: %s", strerror(errno));
        if (child == -1) {
            close(pipe_ends[0]);
            close(pipe_ends[1]);
        }
        return;
    }
    if (child == 0)
        probe_become(probe, row, how, &time, pipe_ends[1]);
    close(pipe_ends[1]);
    bool has_ended = false, is_in_time = probe_receive(pipe_ends[0], row, &time, measures);
    close(pipe_ends[0]);
    if (measures->is_whole[row])
        has_ended = probe_wait(child, probe_due_ms(&time), &status);
    else if (is_in_time)
        has_ended = probe_blame_end(probe, row, child, measures);
    else
        probe_blame_late(probe, row, &time, measures);
    if (has_ended) /* another process may have its number now */
        return;
    (void)kill(child, SIGKILL);             /* has no effect if it hangs in the kernel, so ... */
    (void)waitpid(child, &status, WNOHANG); /* ... this does not wait for it */
}
