/* Reading `by_gpu`: what differs in a phase with the GPU that its run gets.
 *
 * Each entry is put over the phase as it is in the file, and the phase is resolved again; `--set`
 * and remedies come after it. What is settled before a job has a GPU (resources, launch,
 * checkpoint, ...) cannot differ, not even through a param. */
#ifndef PHASED_LIB_SPEC_BY_GPU_H
#define PHASED_LIB_SPEC_BY_GPU_H

#include <jansson.h>

struct overrides;
struct trial;

/* A list of {"match": "h100", "phase": {only the members that differ}}, in the order of the file; a
 * new reference. `trial` is what the phase was resolved from, and `json` is the result, which had
 * no problems. The remedies are tried for each GPU too. */
json_t *by_gpu_read(const struct trial *trial, const struct overrides *overrides,
                    const json_t *json);

/* The names of the params that differ between GPUs, as keys of a new object. Phases after this one
 * cannot use them, because the GPU is not known yet. */
json_t *by_gpu_varying_params(const json_t *phase);

#endif
