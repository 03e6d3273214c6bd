/* What several programs read of one phase of a resolved workflow (lib/spec/spec.h). The model of
 * the core is made in daemon/outlook/model_of.c. */
#ifndef PHASED_LIB_SPEC_PHASE_H
#define PHASED_LIB_SPEC_PHASE_H

#include <jansson.h>

struct text;

/* How long a program without checkpoints has between TERM and KILL when it is stopped. Slurm may
 * leave it less time. Slurm's KillWait has the same default. */
enum { PHASE_STOP_S = 30 };

/* Returns the phase of this name in a resolved document, borrowed; NULL: there is no such phase. */
json_t *phase_spec_find(const json_t *resolved, const char *name);

/* Returns the options of sbatch that a job of `parts` such phases, side by side, asks for: the
 * options of `slurm`, and the options that `resources` stands for. `json` is one member of `phases`
 * of the resolved document. A new reference. */
json_t *phase_spec_options(const json_t *json, unsigned parts);

/* Adds the value of a param as `run` finds it in the environment and as strings show it. Numbers
 * have their shortest exact form. Real numbers have a point or an exponent (5.0). Booleans are true
 * and false. */
void phase_value_text(const json_t *value, struct text *text);

#endif
