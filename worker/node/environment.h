/* The environment of a run's processes: a list of variables in which a later setting replaces an
 * earlier one, and the layers that a rank's environment is made of (doc/protocol.md has the
 * list). */
#ifndef PHASED_WORKER_NODE_ENVIRONMENT_H
#define PHASED_WORKER_NODE_ENVIRONMENT_H

#include "lib/text.h"

#include <stddef.h>

struct assignment;
struct groups;
struct shards;

struct environment {
    char **entries; /* "NAME=value", NULL-terminated: what execve() takes */
    size_t count, capacity;
};

/* Where the node stands in the run, and where its processes meet. */
struct environment_place {
    unsigned node_index;
    unsigned nodes;
    unsigned ranks_per_node;
    const char *address; /* of the first node */
    unsigned port;
    const char *channel;         /* file for what scripts tell, see channel.h */
    const char *program;         /* path of phase-worker itself, or NULL */
    const struct groups *groups; /* of launch: group, or NULL */
    const struct shards *shards; /* of its groups, or NULL */
};

void environment_fini(struct environment *environment);
void environment_set(struct environment *environment, const char *name, const char *value);
void environment_setf(struct environment *environment, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void environment_unset(struct environment *environment, const char *name);
/* NULL when it is not set. */
const char *environment_get(const struct environment *environment, const char *name);

/* Appends `string` to `text` with $PHASED_NAME and ${PHASED_NAME} replaced by their values; other
 * dollars stay. */
void environment_expand(const struct environment *environment, const char *string,
                        struct text *text);

/* All that the ranks of this node have in common: captured environment, the job's variables, the
 * spec's env, params, PHASED_*, and where they meet. `job` is the agent's own environment. */
void environment_build(struct environment *environment, const struct assignment *assignment,
                       const struct environment_place *place, char *const *job);

/* Where processes meet, of which each node has `local`. */
void environment_set_world(struct environment *environment, const struct environment_place *place,
                           unsigned local);
/* What torchrun takes for arguments that are not given: a plain `torchrun train.py` then spans all
 * nodes. Not for ranks, in each of which a torchrun would take itself for one of them. */
void environment_set_torchrun(struct environment *environment,
                              const struct environment_place *place, unsigned local);

/* What differs by rank, or by group. */
void environment_set_rank(struct environment *environment, const struct assignment *assignment,
                          const struct environment_place *place, unsigned local_rank);

#endif
