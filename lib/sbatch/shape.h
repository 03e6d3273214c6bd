/* Translates sbatch's many options for nodes, tasks, CPUs and GPUs into the few keys of a phase. */
#ifndef PHASED_LIB_SBATCH_SHAPE_H
#define PHASED_LIB_SBATCH_SHAPE_H

#include "lib/text.h"
#include "lib/units.h"

#include <stdint.h>

struct sbatch_script;

struct sbatch_shape {
    uint32_t nodes;                     /* 1 and more */
    uint32_t gpus;                      /* on each node; 0: no GPUs */
    char gpu_type[UNITS_GPU_TYPE_SIZE]; /* empty: any type */
    uint32_t cpus;                      /* on each node; 0: not given */
    uint32_t cpus_per_gpu;              /* 0: not given */
    uint32_t tasks;                     /* for srun inside the script; 0: not given */
    uint32_t tasks_per_node;            /* 0: not given */
    uint32_t cpus_per_task;             /* 0: not given */
    struct text gres;                   /* the items of --gres that are not GPUs */
};

/* Reads the shape. A contradiction, or a shape that differs between nodes, becomes a problem of its
 * option. The shape is usable even then. */
void sbatch_shape_read(const struct sbatch_script *script, struct sbatch_shape *ret_shape);
void sbatch_shape_fini(struct sbatch_shape *shape);

#endif
