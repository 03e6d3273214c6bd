/* The groups of one node with `launch: group`: one process for each tensor x pipeline group. That
 * process itself starts the programs on its GPUs, as vLLM does. This module distributes the GPUs
 * and the ports of the node. */
#ifndef PHASED_WORKER_NODE_GROUPS_H
#define PHASED_WORKER_NODE_GROUPS_H

struct assignment;
struct environment;
struct error;
struct groups;

/* Leaves `count` devices from `first` on in `environment`. If there are fewer, leaves no device. */
void groups_narrow(struct environment *environment, unsigned first, unsigned count);

/* Distributes the devices of `environment`, and picks the ports. The devices are in
 * CUDA_VISIBLE_DEVICES, which Slurm sets. Without this variable they are the first devices of the
 * node. Fails if the groups need more devices. */
int groups_new(const struct assignment *assignment, const struct environment *environment,
               struct groups **ret_groups, struct error *err);
/* Accepts NULL. */
void groups_free(struct groups *groups);

/* Sets the devices of a group. `local` is the number of the group on this node. */
void groups_set_devices(const struct groups *groups, struct environment *environment,
                        unsigned local);
/* The number of GPUs of each group. */
unsigned groups_gpus(const struct groups *groups);
/* The port where the processes of a group meet. */
unsigned groups_port(const struct groups *groups, unsigned local);

#endif
