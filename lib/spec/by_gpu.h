/* Reading `by_gpu`: what of a phase differs by the GPU that its run gets.
 *
 * Each member is laid over the phase as it stands in the file, and the phase is resolved once more
 * with it: `--set` and remedies go over it as over the rest. What was settled before a job has a
 * GPU (resources, launch, checkpoint, ...) cannot differ, not even through a param. */
#ifndef PHASED_LIB_SPEC_BY_GPU_H
#define PHASED_LIB_SPEC_BY_GPU_H

#include <jansson.h>

struct overrides;
struct trial;

/* A list of {"match": "h100", "phase": {only the members that differ}}, in the order of the file;
 * the caller's. `trial` is what the phase was resolved from, without problems, to `json`. Tries its
 * remedies out too, for each GPU. */
json_t *by_gpu_read(const struct trial *trial, const struct overrides *overrides,
                    const json_t *json);

/* The names of the params that are not the same on every GPU, as members of an object: phases after
 * this one cannot take them over, since nobody knows yet where it will run. The caller's. */
json_t *by_gpu_varying_params(const json_t *phase);

#endif
