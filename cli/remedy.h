/* What phased changed after a failure, in words. */
#ifndef PHASED_CLI_REMEDY_H
#define PHASED_CLI_REMEDY_H

#include <stdbool.h>

#include <jansson.h>

struct text;

/* Adds "micro_batch 32 → 16, grad_accum 2 → 4 (remedy oom 1 of 2)", and where the next run
 * starts unless that is the newest checkpoint. Returns false if there was no remedy. */
bool remedy_add(const json_t *run, struct text *text);

#endif
