/* Forks a group, and adds numbers by recursive doubling. */
#include "worker/model/group.h"

#include "lib/error.h"

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
#include <unistd.h>

/* Both ends of a pair send a chunk before they receive one, so a chunk must fit into a socket. */
enum { CHUNK_FLOATS = 4096 };

struct pair {
    unsigned low, level; /* connects ranks `low` and `low` ^ 1 << level */
    int ends[2];
};

static void close_pairs(struct pair *pairs, size_t count, const struct group *keeper)
{
    for (size_t i = 0; i < count; i++) {
        unsigned high = pairs[i].low ^ 1U << pairs[i].level;
        if (!keeper || keeper->rank != pairs[i].low)
            (void)close(pairs[i].ends[0]); /* nothing was sent */
        if (!keeper || keeper->rank != high)
            (void)close(pairs[i].ends[1]);
    }
}

static int make_pairs(struct pair *pairs, size_t *count, unsigned size, struct error *err)
{
    for (unsigned level = 0; 1U << level < size; level++) {
        for (unsigned rank = 0; rank < size; rank++) {
            if (rank & 1U << level)
                continue;
            struct pair *pair = &pairs[*count];
            *pair = (struct pair){.low = rank, .level = level};
            if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair->ends) < 0)
                return error_set(err, -errno, "cannot join the ranks of a group: %s",
                                 strerror(errno));
            ++*count;
        }
    }
    return 0;
}

static void take_ends(struct group *group, const struct pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (pairs[i].low == group->rank)
            group->peers[pairs[i].level] = pairs[i].ends[0];
        else if ((pairs[i].low ^ 1U << pairs[i].level) == group->rank)
            group->peers[pairs[i].level] = pairs[i].ends[1];
    }
}

int group_fork(struct group *group, unsigned size, struct error *err)
{
    struct pair pairs[GROUP_SIZE_MAX * GROUP_LEVELS_MAX / 2];
    size_t count = 0;
    assert(size >= 1 && size <= GROUP_SIZE_MAX && (size & (size - 1)) == 0);
    *group = (struct group){.size = size};
    int result = make_pairs(pairs, &count, size, err);
    pid_t parent = getpid();
    for (unsigned rank = 1; rank < size && result == 0 && group->rank == 0; rank++) {
        (void)fflush(NULL); /* the first rank writes what is buffered */
        pid_t pid = fork();
        if (pid < 0)
            result = error_set(err, -errno, "cannot start rank %u of the group: %s", rank,
                               strerror(errno));
        else if (pid == 0)
            group->rank = rank;
        else
            group->children[rank] = pid;
    }
    if (group->rank != 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* cannot fail */
        if (getppid() != parent)
            _exit(EXIT_FAILURE); /* the parent ended meanwhile */
    }
    take_ends(group, pairs, count);
    close_pairs(pairs, count, result == 0 ? group : NULL);
    return result;
}

static int transfer(int fd, char *data, size_t size, int is_sending)
{
    while (size) {
        ssize_t done = is_sending ? send(fd, data, size, MSG_NOSIGNAL) : recv(fd, data, size, 0);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? -errno : -ECONNRESET;
        data += done;
        size -= (size_t)done;
    }
    return 0;
}

static int exchange(int fd, float *values, size_t count)
{
    float chunk[CHUNK_FLOATS];
    for (size_t done = 0; done < count; done += CHUNK_FLOATS) {
        size_t part = count - done < CHUNK_FLOATS ? count - done : CHUNK_FLOATS;
        int result = transfer(fd, (char *)(values + done), part * sizeof *values, 1);
        if (result == 0)
            result = transfer(fd, (char *)chunk, part * sizeof *chunk, 0);
        if (result < 0)
            return result;
        for (size_t i = 0; i < part; i++)
            values[done + i] += chunk[i]; /* a + b and b + a are the same bits */
    }
    return 0;
}

int group_sum(struct group *group, float *values, size_t count, struct error *err)
{
    for (unsigned level = 0; 1U << level < group->size; level++) {
        int result = exchange(group->peers[level], values, count);
        if (result < 0)
            return error_set(err, -ECONNRESET, "rank %u of the group is gone",
                             group->rank ^ 1U << level);
    }
    return 0;
}

int group_end(struct group *group, int result, struct error *err)
{
    for (unsigned level = 0; 1U << level < group->size; level++)
        (void)close(group->peers[level]); /* sums are complete, or the group has failed */
    if (group->rank != 0)
        _exit(result < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
    for (unsigned rank = 1; rank < group->size; rank++) {
        int status = 0;
        pid_t pid = group->children[rank];
        while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
            continue;
        bool is_first = result == 0 || result == -ECONNRESET;
        if (pid > 0 && WIFSIGNALED(status) && is_first)
            result = error_set(err, -ECHILD, "rank %u of the group died of signal %d", rank,
                               WTERMSIG(status));
        else if (pid > 0 && result == 0 && (!WIFEXITED(status) || WEXITSTATUS(status)))
            result = error_set(err, -ECHILD, "rank %u of the group failed", rank);
    }
    return result;
}
