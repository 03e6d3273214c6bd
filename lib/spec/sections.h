/* Reading a phase: from the merged map of its keys to the members of the resolved phase. */
#ifndef PHASED_LIB_SPEC_SECTIONS_H
#define PHASED_LIB_SPEC_SECTIONS_H

#include <stdbool.h>

#include <jansson.h>

struct yaml_node;
struct scope;

/* What the readers of a phase need. */
struct sections {
    struct scope *scope;
    struct scope *written;         /* without --set; NULL if --set changes no param of the phase */
    const struct yaml_node *phase; /* the phase, merged */
    bool lacks_base;               /* do not report keys that are missing */
    /* Resolved members of the phase beside this one; NULL: this phase has its own. */
    const json_t *resources, *slurm;
};

/* Calls the readers of lib/spec/keys.def in the order of the table. `json` has `name`, `after` and
 * `params`. */
void sections_read(const struct sections *sections, json_t *json);

#endif
