/* `colocate: PHASE`: two phases side by side in one allocation.
 *
 * Both phases begin together and ask for the same allocation. So they wait for the same phases, and
 * have the same resources and Slurm options. The phase with `colocate` takes what it leaves out
 * from the other phase. */
#ifndef PHASED_LIB_SPEC_COLOCATE_H
#define PHASED_LIB_SPEC_COLOCATE_H

#include <jansson.h>

struct phases_entry;
struct sections;
struct spec_problems;

/* Makes `sections` take the resources and Slurm options that the phase leaves out from `beside`,
 * the resolved phase beside it; NULL: no phase is beside it. */
void colocate_take_over(const struct phases_entry *entry, const json_t *beside,
                        struct sections *sections);

/* Reports what a resolved phase asks for differently from the phase beside it. Switches preflight
 * off in both, because it would report the programs of the other phase. */
void colocate_settle(const struct phases_entry *entry, json_t *json, json_t *beside,
                     struct spec_problems *problems);

#endif
