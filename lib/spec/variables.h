/* The PHASED_ variables that the worker gives to programs (worker/node/environment.c), and those of
 * them that may stand in texts of the spec. */
#ifndef PHASED_LIB_SPEC_VARIABLES_H
#define PHASED_LIB_SPEC_VARIABLES_H

#include <stdbool.h>

struct spec_problems;

enum variables_place { VARIABLES_OF_TEXTS, VARIABLES_OF_SCRIPTS };

/* Whether each phase has it there. PHASED_IN_ and PHASED_CHECKPOINT_ go by phase. */
bool variables_has(enum variables_place place, const char *name);
/* The one of texts that is nearly called so, and the one of scripts that is one letter away: a
 * script may have others from elsewhere. NULL when there is none. */
const char *variables_nearest(const char *name, struct spec_problems *problems);
const char *variables_next_to(const char *name);

/* The phase that a variable such as PHASED_IN_generate is of; NULL when it is no such variable. */
const char *variables_phase(const char *name);
/* Whether it is that of the phase's checkpoint. */
bool variables_is_checkpoint(const char *name);

#endif
