/* The PHASED_ variables that the worker gives to programs (worker/node/rank_environment.c). Some of
 * them may stand in texts of the spec. */
#ifndef PHASED_LIB_SPEC_VARIABLES_H
#define PHASED_LIB_SPEC_VARIABLES_H

#include <stdbool.h>

struct spec_problems;

enum variables_place { VARIABLES_OF_TEXTS, VARIABLES_OF_SCRIPTS };

/* Whether every phase has the variable at this place. PHASED_IN_ and PHASED_CHECKPOINT_ depend on
 * the phase. */
bool variables_has(enum variables_place place, const char *name);
/* The nearest variable of texts, and the variable of scripts that is one letter away, because a
 * script may have variables from elsewhere. NULL: no variable is near. */
const char *variables_nearest(const char *name, struct spec_problems *problems);
const char *variables_next_to(const char *name);

/* The phase in the name of a variable such as PHASED_IN_generate; NULL for other variables. */
const char *variables_phase(const char *name);
/* Whether the variable is the checkpoint of a phase, such as PHASED_CHECKPOINT_generate. */
bool variables_is_checkpoint(const char *name);

#endif
