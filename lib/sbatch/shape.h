/* Nodes, tasks, CPUs and GPUs of a script: sbatch's many ways to say them as the few of a phase. */
#ifndef PHASED_LIB_SBATCH_SHAPE_H
#define PHASED_LIB_SBATCH_SHAPE_H

#include "lib/text.h"
#include "lib/units.h"

#include <stdint.h>

struct sbatch_script;

struct sbatch_shape {
    uint32_t nodes;                     /* 1 and more */
    uint32_t gpus;                      /* on each node; 0: none */
    char gpu_type[UNITS_GPU_TYPE_SIZE]; /* empty: any */
    uint32_t cpus;                      /* on each node; 0: not said */
    uint32_t cpus_per_gpu;              /* 0: not said */
    uint32_t tasks;                     /* of srun inside the script; 0: not said */
    uint32_t tasks_per_node;            /* 0: not said */
    uint32_t cpus_per_task;             /* 0: not said */
    struct text gres;                   /* what is no GPU, as --gres has it */
};

/* What is contradictory, or cannot be the same on each node, is a problem at its option. The shape
 * is usable then too. */
void sbatch_shape_read(const struct sbatch_script *script, struct sbatch_shape *ret_shape);
void sbatch_shape_fini(struct sbatch_shape *shape);

#endif
