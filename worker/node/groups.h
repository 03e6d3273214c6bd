/* The layout tensor x pipeline x data: the place of a process in it, the GPUs of its node that the
 * process sees, and the groups of one node with `launch: group`. A group is one process for each
 * tensor x pipeline group. That process itself starts the programs on its GPUs, as vLLM does. This
 * module distributes the GPUs and the ports of the node.
 *
 * Ranks are numbered as Megatron-LM does by default ("tp-cp-ep-dp-pp" in its parallel_state.py):
 * tensor neighbours first, data next, pipeline stages last. So a tensor group is a row of GPUs,
 * within one node if it fits. Only the small exchange between stages crosses nodes. */
#ifndef PHASED_WORKER_NODE_GROUPS_H
#define PHASED_WORKER_NODE_GROUPS_H

struct assignment;
struct assignment_sizes;
struct environment;
struct error;
struct groups;

struct placement {
    unsigned tensor, pipeline, data;
};

/* `rank` is less than the product of the sizes. */
struct placement placement_of(const struct assignment_sizes *sizes, unsigned rank);

/* Returns `count` entries, from entry `first` on, of a list of devices such as
 * CUDA_VISIBLE_DEVICES. The caller frees the list. NULL: the list is too short. Entries may be
 * numbers or UUIDs, and are copied unchanged, because only the author of the list knows how they
 * are counted. */
char *placement_devices(const char *list, unsigned first, unsigned count);

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
