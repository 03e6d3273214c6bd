/* The environment of a run's processes: layers that all ranks of a node have in common, and
 * variables of each rank or group (doc/protocol.md lists them). */
#ifndef PHASED_WORKER_NODE_RANK_ENVIRONMENT_H
#define PHASED_WORKER_NODE_RANK_ENVIRONMENT_H

#include <jansson.h>
#include <stdbool.h>

struct assignment;
struct environment;
struct groups;
struct shards;

/* The place of the node in the run, and the address where its processes meet. */
struct rank_place {
    unsigned node_index;
    unsigned nodes;
    unsigned ranks_per_node;
    const char *address; /* of the first node */
    unsigned port;
    const char *channel;         /* see channel.h */
    const char *program;         /* path of phase-worker itself, or NULL */
    const struct groups *groups; /* with launch: group, or NULL */
    const struct shards *shards; /* of these groups, or NULL */
};

/* Whether the job's value of the variable replaces the value in the `captured` environment. */
bool rank_environment_is_of_job(const char *name, const json_t *captured);

/* Builds what the ranks of this node have in common: the captured environment, the job's variables,
 * the spec's env, params, PHASED_*, and the meeting point. `job` is the agent's own environment. */
void rank_environment_build(struct environment *environment, const struct assignment *assignment,
                            const struct rank_place *place, char *const *job);

/* Sets what differs between ranks, or between groups. */
void rank_environment_set_rank(struct environment *environment, const struct assignment *assignment,
                               const struct rank_place *place, unsigned local_rank);

#endif
