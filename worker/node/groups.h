/* The groups of one node with `launch: group`: one process for each tensor x pipeline group, which
 * starts what runs on its GPUs by itself, as vLLM does. This module deals out the GPUs of the node
 * and the ports. */
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

/* Sets the devices of a group; `local` counts the groups of the node. */
void groups_set_devices(const struct groups *groups, struct environment *environment,
                        unsigned local);
/* How many GPUs each group has. */
unsigned groups_gpus(const struct groups *groups);
/* The port where the processes of a group meet. */
unsigned groups_port(const struct groups *groups, unsigned local);

#endif
