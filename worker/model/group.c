/* Forks a group, and waits for its end. */
#include "worker/model/group.h"

#include "lib/clock.h"
#include "lib/error.h"
#include "lib/memory.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    TIMEOUT_MS = 300 * 1000, /* how long a sum waits for the slowest rank */
    LEAVE_MS = 20 * 1000,    /* after a failure: the others notice, and leave their GPU */
    PAUSE_NS = 10 * 1000 * 1000,
};

/* In the new process: it keeps one socket, to rank 0. */
static void become(struct group *group, unsigned rank, int socket, pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* cannot fail */
    if (getppid() != parent)
        _exit(EXIT_FAILURE); /* the parent ended meanwhile */
    for (unsigned i = 1; i < rank; i++) {
        (void)close(group->ranks.sockets[i]); /* those of rank 0, which has them still */
        group->ranks.sockets[i] = -1;
    }
    group->ranks.sockets[0] = socket;
    group->ranks.rank = rank;
}

static int fork_rank(struct group *group, unsigned rank, struct error *err)
{
    int ends[2];
    pid_t parent = getpid();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return error_set(err, -errno, "cannot join the ranks of a group: %s", strerror(errno));
    (void)fflush(NULL); /* the first rank writes what is buffered */
    pid_t pid = fork();
    int status = pid < 0 ? error_set(err, -errno, "cannot start rank %u of the group: %s", rank,
                                     strerror(errno))
                         : 0;
    (void)close(ends[pid == 0 ? 0 : 1]); /* the end of the other process */
    if (pid == 0) {
        become(group, rank, ends[1], parent);
    } else {
        group->ranks.sockets[rank] = ends[0];
        group->children[rank] = pid < 0 ? 0 : pid; /* 0: the last one */
    }
    return status;
}

int group_fork(struct group *group, unsigned size, struct error *err)
{
    assert(size >= 1 && size <= GROUP_SIZE_MAX && (size & (size - 1)) == 0);
    *group = (struct group){.ranks = {.size = size, .timeout_ms = TIMEOUT_MS}};
    group->ranks.sockets = xmalloc(size * sizeof *group->ranks.sockets);
    for (unsigned i = 0; i < size; i++)
        group->ranks.sockets[i] = -1;
    int status = 0;
    for (unsigned rank = 1; rank < size && status == 0 && group->ranks.rank == 0; rank++)
        status = fork_rank(group, rank, err);
    return status;
}

/* Waits for the end of a child. If it does not end before the deadline (0: none), it is killed.
 * Returns its status; 0 if it was killed here. */
static int await(pid_t pid, int64_t deadline_ms)
{
    const struct timespec moment = {.tv_nsec = PAUSE_NS};
    bool is_killed = false;
    int status = 0;
    while (waitpid(pid, &status, deadline_ms && !is_killed ? WNOHANG : 0) != pid) {
        if (!deadline_ms || is_killed)
            continue; /* a signal came */
        is_killed = clock_steady_ms() >= deadline_ms;
        if (is_killed)
            (void)kill(pid, SIGKILL); /* it is a child that is not yet awaited */
        else
            (void)nanosleep(&moment, NULL); /* a shorter pause after a signal is fine */
    }
    return is_killed ? 0 : status;
}

/* Ends the process of the rank. A rank prints only its own failure. */
static void leave(unsigned rank, int status, const struct error *err)
{
    char message[sizeof err->where + sizeof err->message];
    if (status < 0 && status != -ECONNRESET)
        fprintf(stderr, "phase-model: rank %u: %s\n", rank,
                error_text(err, message, sizeof message));
    _exit(status < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}

int group_end(struct group *group, int status, struct error *err)
{
    unsigned rank = group->ranks.rank, size = group->ranks.size;
    ranks_fini(&group->ranks); /* sums are complete, or the group has failed */
    if (rank != 0)
        leave(rank, status, err);
    int64_t deadline_ms = 0;
    for (unsigned other = 1; other < size && group->children[other]; other++) {
        if (status < 0 && !deadline_ms)
            deadline_ms = clock_steady_ms() + LEAVE_MS;
        int ended = await(group->children[other], deadline_ms);
        bool is_first = status == 0 || status == -ECONNRESET;
        if (WIFSIGNALED(ended) && is_first)
            status = error_set(err, -ECHILD, "rank %u of the group died of signal %d", other,
                               WTERMSIG(ended));
        else if (status == 0 && (!WIFEXITED(ended) || WEXITSTATUS(ended)))
            status = error_set(err, -ECHILD, "rank %u of the group failed", other);
    }
    return status;
}
