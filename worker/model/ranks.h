/* The processes that train one model together: who they are, how they meet, how they add numbers.
 *
 * They are told by the environment as torchrun's are: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT.
 * Rank 0 listens there, every other connects to it and stays connected. A sum goes to rank 0 and
 * comes back; it adds in the order of the ranks, so that the result is the same bits every time and
 * on every rank. One star of TCP serves ranks of one node and of several.
 *
 * Nothing waits for ever. A rank that ends is noticed at once by its closed connection, a machine
 * that is gone within half a minute, a rank that hangs by the timeout of the sum. There is no
 * secrecy and no proof of identity: the network between the nodes is trusted, as NCCL's is. */
#ifndef PHASED_WORKER_MODEL_RANKS_H
#define PHASED_WORKER_MODEL_RANKS_H

#include <stddef.h>
#include <stdint.h>

struct error;

enum { RANKS_MAX = 1024, RANKS_FINGERPRINT = 32 };

/* Where this process stands. `address` and `port` are borrowed from the environment and NULL for a
 * single rank. */
struct ranks_place {
    unsigned rank, size;
    const char *address, *port;
};

struct ranks {
    unsigned rank, size;
    int *sockets; /* of rank 0: one for each rank, its own -1; of the others: one, to rank 0 */
    int timeout_ms;
    uint64_t sums; /* done so far: ranks out of step are told apart */
};

/* Without WORLD_SIZE there is one rank. */
int ranks_place_from_environment(struct ranks_place *ret_place, struct error *err);

/* Meets the other ranks within `join_timeout_ms`. All must bring the same `fingerprint`, which says
 * what they are about to do; a rank that brings another is named and all fail. Returns -EINTR when
 * a stop was asked for meanwhile. Later sums take at most `timeout_ms` each. */
int ranks_init(struct ranks *ranks, const struct ranks_place *place,
               const uint8_t fingerprint[RANKS_FINGERPRINT], int join_timeout_ms, int timeout_ms,
               struct error *err);
void ranks_fini(struct ranks *ranks);

/* Replaces `values` on every rank by their sum over the ranks. After a failure the ranks are of no
 * more use. */
int ranks_sum(struct ranks *ranks, float *values, size_t count, struct error *err);

#endif
