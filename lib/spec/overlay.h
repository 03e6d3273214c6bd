/* What of a phase differs by GPU: choosing among the members of a resolved phase's `by_gpu`, and
 * putting the chosen one over the phase.
 *
 * The first one that fits is taken, in the order of the file; where none does, the phase stands as
 * it is. Who is on the node with the GPU chooses, once for a run, and tells the name of what it has
 * chosen; all others apply that name, so that they never judge another phase than the one that
 * ran. */
#ifndef PHASED_LIB_SPEC_OVERLAY_H
#define PHASED_LIB_SPEC_OVERLAY_H

#include <stdbool.h>

#include <jansson.h>

/* A GPU as the driver tells of it, or as Slurm does, which knows its type alone. */
struct overlay_gpu {
    const char *model; /* "NVIDIA H100 80GB HBM3", or a type such as "h100"; NULL: not known */
    double memory_gib; /* that it has; 0: not known */
};

/* Whether `name`, a key of by_gpu, is one for this GPU: an amount of memory (80GB), or the words of
 * a model (h100, "H100 PCIe") as they stand in its name, in any case. */
bool overlay_is_for(const char *name, const struct overlay_gpu *gpu);

/* Whether the phase differs by GPU at all. */
bool overlay_is_needed(const json_t *phase);
/* The key of the first member that is for this GPU, borrowed from `phase`; NULL: none is. */
const char *overlay_choose(const json_t *phase, const struct overlay_gpu *gpu);
/* The phase as it is with this member over it; NULL, or a name that there is not: as it stands. A
 * new reference. */
json_t *overlay_apply(const json_t *phase, const char *name);

/* The amount in a key such as 80GB or 141GB, in GB; 0: it is none. */
unsigned overlay_memory(const char *name);

#endif
