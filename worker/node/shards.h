/* The shards of one node's groups: which lines of the input each gets, as a file of its own, and
 * which are done already.
 *
 * They lie in PHASE_DIR/shards, for all runs of the phase: <shard> with the input's suffix, and
 * <shard>.done once its group has succeeded. That file holds a hash of the lines themselves, the
 * number of shards, the script and the params: whatever of these changes, the shard is run again.
 *
 *   finding (on a thread, as the input may be large) -> ready
 */
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
    const struct assignment *assignment;   /* of a phase that splits; for the call only */
    const struct environment *environment; /* for $PHASED_ in the path; likewise */
    unsigned first, count;                 /* the shards of this node */
    /* All are found, or `result` and `err` say why not. */
    void (*ready)(void *context, int result, const struct error *err);
    void *context;
};

struct shards *shards_find(const struct shards_options *options);
/* Gives up what is not ready; frees in the loop. Accepts NULL. */
void shards_close(struct shards *shards);

/* The i-th shard of this node: its file. */
const char *shards_file(const struct shards *shards, unsigned i);
/* Whether there is nothing to be done: an earlier run has done it, or it has no lines. */
bool shards_is_over(const struct shards *shards, unsigned i);
/* How many this run has done. */
unsigned shards_done(const struct shards *shards);

/* Its group has succeeded: the next run leaves it out. */
int shards_mark_done(struct shards *shards, unsigned i, struct error *err);

/* The phase has succeeded: removes its shards and what says that they are done. Should it be run
 * once more, then from the start. */
void shards_remove_all(const char *run_dir);

#endif
