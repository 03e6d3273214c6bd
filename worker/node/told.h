/* The checkpoints that were reported last. A program may announce a checkpoint that the looks at
 * its folder find too, and people want to read of it once. */
#ifndef PHASED_WORKER_NODE_TOLD_H
#define PHASED_WORKER_NODE_TOLD_H

#include "lib/saved.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TOLD_MAX = 64 }; /* more checkpoints do not come between an announcement and a look */

struct told_item {
    char *path;
    int64_t step;
    struct checkpoint_extent extent;
    bool is_suspect;
};

struct told {
    struct told_item items[TOLD_MAX]; /* a ring */
    size_t next;
};

/* Remembers the checkpoint. Returns whether the same checkpoint was reported before: it has one
 * path, and path, step, suspicion and files are the same. */
bool told_again(struct told *told, const struct saved *checkpoint, bool is_suspect);
void told_fini(struct told *told);

#endif
