/* The processes that train one model together: how they meet, and how they add numbers.
 *
 * As for torchrun, the environment has RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT. Rank 0
 * listens at the address. Every other rank connects to it and stays connected. The numbers for a
 * sum go to rank 0, which adds them in a tree over the ranks, ((0 + 1) + (2 + 3)) and so on, and
 * sends the sum back. So the result has the same bits every time and on every rank. One star of TCP
 * serves the ranks of one node or of several. The processes of a group (group.h) are ranks without
 * TCP.
 *
 * No wait is endless. If a rank ends, its closed connection shows that at once. If a machine is
 * gone, the other ranks notice it within half a minute. But if data to the machine is not
 * acknowledged yet, or if a rank hangs, only the timeout of the sum ends the wait. There is no
 * encryption and no authentication: the network between the nodes is trusted, as for NCCL. */
#ifndef PHASED_WORKER_MODEL_RANKS_H
#define PHASED_WORKER_MODEL_RANKS_H

#include "lib/error.h"

#include <stddef.h>
#include <stdint.h>

enum { RANKS_MAX = 1024, RANKS_FINGERPRINT = 32 };

/* The rank of this process, and where rank 0 listens. `address` and `port` are borrowed from the
 * environment, and NULL for a single rank. */
struct ranks_place {
    unsigned rank, size;
    const char *address, *port;
};

struct ranks {
    unsigned rank, size;
    int *sockets; /* in rank 0: one for each rank, its own is -1; in others: one, to rank 0 */
    int timeout_ms;
    uint64_t sums;        /* sums so far; the numbers show ranks that are out of step */
    struct error failure; /* the first failure of an exchange; its code is 0 before */
};

/* Without WORLD_SIZE there is one rank. A single rank needs no RANK. */
int ranks_place_from_environment(struct ranks_place *ret_place, struct error *err);

/* Meets the other ranks within `join_timeout_ms`. All must have the same `fingerprint` of what they
 * are going to do. If the fingerprint of a rank differs, the message names the rank, and all ranks
 * fail. Returns -EINTR if a stop was requested meanwhile. Later sums take at most `timeout_ms`
 * each. */
int ranks_init(struct ranks *ranks, const struct ranks_place *place,
               const uint8_t fingerprint[RANKS_FINGERPRINT], int join_timeout_ms, int timeout_ms,
               struct error *err);
void ranks_fini(struct ranks *ranks);

/* After a failure of one of the functions below the ranks cannot be used: later sums fail at once,
 * for the same reason. */

/* Replaces `values` on every rank by their sum over the ranks. A rank that adds the parts of 2, 4,
 * 8 or more ranks in the same tree, and gives their sum, does not change the bits. */
int ranks_sum(struct ranks *ranks, float *values, size_t count, struct error *err);

/* Which of `count` values a rank owns. The parts of the ranks lie side by side in the order of the
 * ranks, and begin at multiples of 64. */
struct ranks_part {
    size_t first, count;
};
struct ranks_part ranks_part(unsigned rank, unsigned size, size_t count);
/* Returns what two parts have in common. */
struct ranks_part ranks_overlap(struct ranks_part a, struct ranks_part b);

/* Gives every rank the sum over the ranks of the values that the rank owns. Its other values are
 * undefined then. A sum has the same bits as that of ranks_sum(). */
int ranks_sum_parts(struct ranks *ranks, float *values, size_t count, struct error *err);

/* Replaces all values on every rank by the values of their owners. */
int ranks_gather(struct ranks *ranks, float *values, size_t count, struct error *err);

/* `values` has `count` values for each rank, in the order of the ranks, and each rank gives its own
 * values. Rank 0 gets the values of all ranks. */
int ranks_collect(struct ranks *ranks, float *values, size_t count, struct error *err);

enum { RANKS_LATE = 1 };
/* Returns -ECONNRESET if a rank has closed its connection, with a message that names the rank.
 * Returns RANKS_LATE if another rank waits in ranks_compare() for this one. Does not wait. Rank 0
 * sees all ranks, and the others see rank 0. */
int ranks_look(const struct ranks *ranks, struct error *err);

/* Finds the ranks whose GPUs are behind, after a GPU was not done in time. `next` is the number of
 * the first sum that the GPU of this rank has not reached; 0: the rank does not count sums. Every
 * rank that waits for its GPU calls this when its own time is over, or when ranks_look() says so. A
 * rank that waits in a sum takes part by itself, and its sum fails. All ranks get the same message.
 * `err` has a message already, which stays if the numbers do not tell. Takes at most some seconds,
 * and returns the code of `err`. */
int ranks_compare(struct ranks *ranks, uint64_t next, struct error *err);

#endif
