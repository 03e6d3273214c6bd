/* Which GPUs reduce together: the groups of a run's layout, as ranks.
 *
 * A rank is a GPU: rank = node x GPUs of a node + place of the GPU on its node. A round is a set of
 * groups that reduce at the same time, as in training: first all tensor groups, then all data
 * groups. A rank is in at most one group of a round. Pure. */
#ifndef PHASED_WORKER_PREFLIGHT_GROUPS_H
#define PHASED_WORKER_PREFLIGHT_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct text;

enum {
    GROUPS_RANKS_MAX = 4096,
    GROUPS_ROUNDS_MAX = 4,
    GROUPS_NAME_SIZE = 16,
    GROUPS_NONE = UINT16_MAX
};

struct groups_round {
    char name[GROUPS_NAME_SIZE]; /* "tensor", "data", "all" */
    unsigned group_count;
    uint16_t group[GROUPS_RANKS_MAX]; /* of each rank; GROUPS_NONE: in no group */
};

struct groups {
    unsigned rank_count;
    unsigned rank_count_of_node;
    unsigned round_count; /* 0: no rank has a partner */
    struct groups_round rounds[GROUPS_ROUNDS_MAX];
};

/* Reads "tensor=4,pipeline=1,data=2". Tensor ranks lie side by side, then come the replicas, and
 * last the stages of the pipeline, as worker/node/groups.h numbers the ranks of a run. A
 * missing size is 1, and a missing `data` is what remains. The stages of a pipeline send and do not
 * reduce, so they are not groups. Without a layout (NULL), all ranks are one group. */
int groups_of_layout(const char *layout, unsigned nodes, unsigned gpus, struct groups *ret_groups,
                     struct error *err);

/* Reads "0-3/4-7;data:0,4/1,5": `/` between groups, `;` between rounds, the name of a round
 * first. */
int groups_of_text(const char *list, unsigned nodes, unsigned gpus, struct groups *ret_groups,
                   struct error *err);

/* Adds the groups in the form that groups_of_text() reads. */
void groups_text(const struct groups *groups, struct text *text);

/* Adds the ranks of one group, as "0-3" or "0,4". */
void groups_text_of_one(const struct groups *groups, unsigned round, unsigned group,
                        struct text *text);

/* Return how many ranks, and how many nodes, one group has. */
unsigned groups_size(const struct groups *groups, unsigned round, unsigned group);
unsigned groups_nodes(const struct groups *groups, unsigned round, unsigned group);

/* Whether a rank of `node` is in the group. */
bool groups_is_on(const struct groups *groups, unsigned round, unsigned group, unsigned node);

/* Returns the number of `rank` within its group. */
unsigned groups_place(const struct groups *groups, unsigned round, unsigned rank);

#endif
