/* Choosing an entry of `by_gpu` of a resolved phase, and putting it over the phase.
 *
 * The first entry that fits is used, in the order of the file. If no entry fits, the phase stays as
 * it is. The worker on the node with the GPU chooses, once for a run, and reports the name of the
 * entry. Everybody else applies that name, so that they judge the phase that ran. */
#ifndef PHASED_LIB_SPEC_OVERLAY_H
#define PHASED_LIB_SPEC_OVERLAY_H

#include <stdbool.h>

#include <jansson.h>

/* A GPU as the driver describes it, or as Slurm describes it: Slurm knows only the type. */
struct overlay_gpu {
    const char *model; /* "NVIDIA H100 80GB HBM3", or a type such as "h100"; NULL: not known */
    double memory_gib; /* 0: not known */
};

/* Whether `name`, a key of by_gpu, fits this GPU. It is an amount of memory (80GB), or words of the
 * model's name (h100, "H100 PCIe", rtx4090) in any case, joined or apart. */
bool overlay_is_for(const char *name, const struct overlay_gpu *gpu);

/* Whether `name` may fit a GPU to which Slurm gives this type. Administrators make types, and join
 * words in them (rtx4090). False only if both have digits and the type contains no word of `name`
 * with digits: h10 and h100. A type that begins with a digit is mostly a part of a GPU (3g.20gb),
 * which says nothing of the model. */
bool overlay_may_fit_type(const char *name, const char *type);

/* Whether the phase has entries in by_gpu. */
bool overlay_exists(const json_t *phase);
/* The key of the first entry that fits this GPU, borrowed from `phase`; NULL: no entry fits. */
const char *overlay_choose(const json_t *phase, const struct overlay_gpu *gpu);
/* Returns the phase with the entry `name` over it, a new reference. Returns the phase as it is if
 * `name` is NULL or no entry has the name. */
json_t *overlay_apply(const json_t *phase, const char *name);

#endif
