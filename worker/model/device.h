/* On what phase-model computes. Two programs are built from the same sources: phase-model for CPUs,
 * and phase-model-gpu for GPUs, which needs CUDA's libraries. phase-model starts phase-model-gpu if
 * a GPU is wanted, so a command is the same on all machines. */
#ifndef PHASED_WORKER_MODEL_DEVICE_H
#define PHASED_WORKER_MODEL_DEVICE_H

struct error;

#define DEVICE_HELP                                                                                \
    "auto, cpu or cuda; auto: a GPU if one is visible and phase-model-gpu is installed"

/* Follows the option --device. Returns 0 if this program is the right one. If it is not, the other
 * program takes its place, with the same `arguments`, which begin with the name of the program.
 * Returns -ERANGE if this program does not know the `wish`. */
int device_choose(const char *wish, char **arguments, struct error *err);

/* Returns the number of the GPU for this process: LOCAL_RANK, or 0. */
int device_number(struct error *err);

#endif
