/* Splits a file by lines into parts with equally many lines. The parts are in order and byte for
 * byte as in the file.
 *
 * Equal splits of a file give equal parts. So each node makes its own parts, without asking another
 * node. A line ends with a newline. Text after the last newline is a line, too. */
#ifndef PHASED_WORKER_NODE_SPLIT_H
#define PHASED_WORKER_NODE_SPLIT_H

#include <stdatomic.h>
#include <stdint.h>

#include <sodium.h>

struct error;

struct split_part {
    uint64_t begin, end; /* in bytes; equal for a part without lines */
};

/* Finds `count` of the `total` parts of the file `fd`, from part `first` on. Part i of n begins at
 * line i * lines / n. -ECANCELED: `is_cancelled` became true. */
int split_find(int fd, unsigned total, unsigned first, unsigned count,
               const atomic_bool *is_cancelled, struct split_part *ret_parts, struct error *err);

/* Hashes a part. Copies it to `output`, unless `output` is negative. */
int split_copy(int fd, const struct split_part *part, int output, const atomic_bool *is_cancelled,
               crypto_generichash_state *hash, struct error *err);

#endif
