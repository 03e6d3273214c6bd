/* What a run's processes find in their environment: the layers that all ranks of a node have in
 * common, and what differs by rank or by group (doc/protocol.md has the list). */
#ifndef PHASED_WORKER_NODE_RANK_ENVIRONMENT_H
#define PHASED_WORKER_NODE_RANK_ENVIRONMENT_H

struct assignment;
struct environment;
struct groups;
struct shards;

/* Where the node stands in the run, and where its processes meet. */
struct rank_place {
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

/* All that the ranks of this node have in common: captured environment, the job's variables, the
 * spec's env, params, PHASED_*, and where they meet. `job` is the agent's own environment. */
void rank_environment_build(struct environment *environment, const struct assignment *assignment,
                            const struct rank_place *place, char *const *job);

/* What differs by rank, or by group. */
void rank_environment_set_rank(struct environment *environment, const struct assignment *assignment,
                               const struct rank_place *place, unsigned local_rank);

#endif
