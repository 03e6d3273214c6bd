/* Splitting a file by lines: parts of equally many lines, in order, byte for byte as they stand.
 *
 * Whoever splits a file alike finds the same parts, so every node makes its own without asking
 * another. Lines end with a newline; what follows the last one is a line too. */
#ifndef PHASED_WORKER_NODE_SPLIT_H
#define PHASED_WORKER_NODE_SPLIT_H

#include <stdatomic.h>
#include <stdint.h>

#include <sodium.h>

struct error;

struct split_part {
    uint64_t begin, end; /* bytes; the same for a part without lines */
};

/* Finds the `count` parts from `first` on of the `total` that the file `fd` is split into. Part i
 * of n has the lines from i * lines / n on. -ECANCELED: `is_cancelled` became true. */
int split_find(int fd, unsigned total, unsigned first, unsigned count,
               const atomic_bool *is_cancelled, struct split_part *ret_parts, struct error *err);

/* Hashes a part, and copies it to `output` unless that is negative. */
int split_copy(int fd, const struct split_part *part, int output, const atomic_bool *is_cancelled,
               crypto_generichash_state *hash, struct error *err);

#endif
