/* The processes of one tensor-parallel group on one machine. The first process forks the others,
 * and sockets connect them. Each process has a part of every matrix.
 *
 * Sums are added in a tree over the ranks, ((0 + 1) + (2 + 3)) and so on. A process that adds the
 * parts of one rank in the same tree gets the same bits for any size. If one process ends, the
 * whole group ends, because the others see that its sockets close. */
#ifndef PHASED_WORKER_MODEL_GROUP_H
#define PHASED_WORKER_MODEL_GROUP_H

#include <stddef.h>
#include <sys/types.h>

struct error;

enum { GROUP_SIZE_MAX = 16, GROUP_LEVELS_MAX = 4 };

struct group {
    unsigned rank, size;            /* size is a power of two */
    int peers[GROUP_LEVELS_MAX];    /* sockets to rank ^ 1, rank ^ 2, rank ^ 4, ... */
    pid_t children[GROUP_SIZE_MAX]; /* in rank 0: the other ranks */
};

/* Forks the other ranks. Returns in each of them and in the caller, which is rank 0. */
int group_fork(struct group *group, unsigned size, struct error *err);

/* Replaces `values` on every rank by their sum over the ranks, with the same bits on each rank.
 * After a failure the group cannot be used. */
int group_sum(struct group *group, float *values, size_t count, struct error *err);

/* Ends the group. In any rank but the first it ends the process; `result` < 0 is a failure. In the
 * first rank it waits for the others, and returns `result` or the failure of another rank. */
int group_end(struct group *group, int result, struct error *err);

#endif
