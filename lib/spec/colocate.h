/* `colocate: PHASE`: two phases side by side in one allocation.
 *
 * Whoever shares an allocation asks for the same one and may begin at the same time. So the phases
 * wait for the same ones, and want the same resources and Slurm options; what the phase that says
 * `colocate` leaves out is taken over from the one that it names. */
#ifndef PHASED_LIB_SPEC_COLOCATE_H
#define PHASED_LIB_SPEC_COLOCATE_H

#include <jansson.h>

struct phases_entry;
struct sections;
struct spec_problems;

/* Has the sections of the phase that are not its own taken over from `beside`, the resolved phase
 * that it stands beside; NULL: there is none. */
void colocate_take_over(const struct phases_entry *entry, const json_t *beside,
                        struct sections *sections);

/* Reports what a resolved phase asks for otherwise than the one it stands beside. Neither of the
 * two has a preflight from then on: it would take the other's programs for a stranger's. */
void colocate_settle(const struct phases_entry *entry, json_t *json, json_t *beside,
                     struct spec_problems *problems);

#endif
