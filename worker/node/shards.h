/* The shards of the groups of one node: the lines of the input for each group, as files, and which
 * shards are done already.
 *
 * The shards are in PHASE_DIR/shards, for all runs of the phase: <shard> with the suffix of the
 * input, and <shard>.done after its group has succeeded. The .done file has a hash of the lines,
 * the number of shards, the script and the params. If any of these changes, the shard runs again.
 *
 *   finding (on a thread, as the input may be large) -> ready */
#ifndef PHASED_WORKER_NODE_SHARDS_H
#define PHASED_WORKER_NODE_SHARDS_H

#include <stdbool.h>
#include <uv.h>

struct assignment;
struct environment;
struct error;
struct shards;

struct shards_options {
    uv_loop_t *loop;
    const struct assignment *assignment;   /* of a phase with `shard`; borrowed during the call */
    const struct environment *environment; /* for $PHASED_ in the path; borrowed during the call */
    unsigned first, count;                 /* the shards of this node */
    /* All shards were found, or `status` and `err` say why not. */
    void (*ready)(void *context, int status, const struct error *err);
    void *context;
};

struct shards *shards_find(const struct shards_options *options);
/* Stops a search; frees in the loop. Accepts NULL. */
void shards_close(struct shards *shards);

/* The file of the i-th shard of this node. */
const char *shards_file(const struct shards *shards, unsigned i);
/* Whether a shard needs no work: an earlier run has done it, or it has no lines. */
bool shards_is_over(const struct shards *shards, unsigned i);
/* How many shards this run has done. */
unsigned shards_done(const struct shards *shards);
/* How many shards need no work in this run. 0: they were not found. */
unsigned shards_over(const struct shards *shards);

/* The group has succeeded. The next run leaves this shard out. */
int shards_mark_done(struct shards *shards, unsigned i, struct error *err);

/* The phase has succeeded. Removes its shards and their marks, so that another run starts from the
 * beginning. */
void shards_remove_all(const char *run_dir);

#endif
