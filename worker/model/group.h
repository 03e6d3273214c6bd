/* The processes of one tensor-parallel group on one machine: forked by the first, joined to each
 * other by sockets, each with a part of every matrix.
 *
 * Sums are added in a tree over the ranks, ((0 + 1) + (2 + 3)) and so on. Whoever adds the parts of
 * one rank in the same tree gets the same bits for any size. A process that ends takes the group
 * with it: the others see its sockets close. */
#ifndef PHASED_WORKER_MODEL_GROUP_H
#define PHASED_WORKER_MODEL_GROUP_H

#include <stddef.h>
#include <sys/types.h>

struct error;

enum { GROUP_SIZE_MAX = 16, GROUP_LEVELS_MAX = 4 };

struct group {
    unsigned rank, size;            /* size is a power of two */
    int peers[GROUP_LEVELS_MAX];    /* to rank ^ 1, rank ^ 2, rank ^ 4, ... */
    pid_t children[GROUP_SIZE_MAX]; /* of rank 0: the other ranks */
};

/* Forks the others; returns in each of them as in the caller, which is rank 0. */
int group_fork(struct group *group, unsigned size, struct error *err);

/* Replaces `values` on every rank by their sum over the ranks: the same bits on each. After a
 * failure the group is of no more use. */
int group_sum(struct group *group, float *values, size_t count, struct error *err);

/* Ends the group. Of a rank but the first it ends the process, with `result` < 0 for its failure.
 * Of the first it waits for the others; returns `result`, or the failure of another rank. */
int group_end(struct group *group, int result, struct error *err);

#endif
