/* The sections of a phase (resources, checkpoint, ...): from the merged map to the members of the
 * resolved phase. */
#ifndef PHASED_LIB_SPEC_SECTIONS_H
#define PHASED_LIB_SPEC_SECTIONS_H

#include <stdbool.h>

#include <jansson.h>

struct node;
struct scope;

/* What a phase is read from. */
struct sections {
    struct scope *scope;
    struct scope *written;    /* without --set; NULL where that changes no param of the phase */
    const struct node *phase; /* merged */
    bool lacks_base;          /* what is missing is no problem */
    /* Resolved, from a phase that shares its allocation with this one; NULL: read from this one. */
    const json_t *resources, *slurm;
};

/* Reads all of the phase but its params into `json`, which has `name`, `after` and `params`. */
void sections_read(const struct sections *sections, json_t *json);

#endif
