/* The processes of one tensor-parallel group on one machine. The first process forks the others.
 * Each process has a part of every matrix, and the whole embedding.
 *
 * The processes are ranks (ranks.h), whose sockets are pairs instead of TCP connections. If one
 * process ends, the whole group ends: rank 0 sees that a socket closes, and the others see that
 * rank 0 closes theirs. */
#ifndef PHASED_WORKER_MODEL_GROUP_H
#define PHASED_WORKER_MODEL_GROUP_H

#include "worker/model/ranks.h"

#include <sys/types.h>

struct error;

enum { GROUP_SIZE_MAX = 16 };

struct group {
    struct ranks ranks;             /* its size is a power of two */
    pid_t children[GROUP_SIZE_MAX]; /* rank 0 has the processes of the other ranks here */
};

/* Forks the other ranks. Returns in each of them and in the caller, which is rank 0. */
int group_fork(struct group *group, unsigned size, struct error *err);

/* Ends the group. In any rank but the first it ends the process; `status` < 0 is a failure, which
 * the process prints unless another rank is the cause. In the first rank it waits for the others,
 * and returns `status` or the failure of another rank. After a failure it kills what does not end
 * by itself. */
int group_end(struct group *group, int status, struct error *err);

#endif
