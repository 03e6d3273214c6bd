/* The groups of one node with `launch: group`: one process for each tensor x pipeline group, which
 * starts what runs on its GPUs by itself, as vLLM does. Each is a world of its own: it sees its own
 * GPUs only, and its processes meet at an own port of this node. */
#ifndef PHASED_WORKER_NODE_GROUPS_H
#define PHASED_WORKER_NODE_GROUPS_H

struct assignment;
struct environment;
struct error;
struct groups;

/* Leaves `count` devices from `first` on in `environment`; none, where it has not so many. */
void groups_narrow(struct environment *environment, unsigned first, unsigned count);

/* Deals out the devices that `environment` has (CUDA_VISIBLE_DEVICES as Slurm set it; where it set
 * none, the first ones), and picks the ports. Fails where there are fewer than the groups need. */
int groups_new(const struct assignment *assignment, const struct environment *environment,
               struct groups **ret_groups, struct error *err);
/* Accepts NULL. */
void groups_free(struct groups *groups);

/* Sets what the group has for itself; `group` counts through the whole run, `local` through those
 * of the node. What an earlier call set is replaced. */
void groups_set_environment(const struct groups *groups, struct environment *environment,
                            unsigned group, unsigned local);

#endif
