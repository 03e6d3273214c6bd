/* `mfu`: how large the model is, from which a run's MFU is told (lib/metrics/speed.h). */
#ifndef PHASED_LIB_SPEC_MODEL_SIZE_H
#define PHASED_LIB_SPEC_MODEL_SIZE_H

#include <jansson.h>

struct node;
struct scope;

/* Reads the merged `phase` and adds `mfu` to `json`: `params`, `layers`, `width`, `sequence` and,
 * where it is given, `peak_tflops`; null without the key, or without GPUs. */
void model_size_read(struct scope *scope, const struct node *phase, json_t *json);

#endif
