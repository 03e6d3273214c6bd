/* Translates --dependency of a script into phases that come before, and jobs of Slurm. */
#ifndef PHASED_LIB_SBATCH_DEPENDENCY_H
#define PHASED_LIB_SBATCH_DEPENDENCY_H

#include "lib/text.h"

#include <stddef.h>

struct sbatch_script;

/* A script that was read earlier. The strings are borrowed. */
struct sbatch_earlier {
    const char *title; /* the script's --job-name */
    const char *phase;
};

struct sbatch_dependency {
    struct text after; /* `prepare, data`: the named phases; empty: no phase */
    struct text kept;  /* the part that stays an option of Slurm */
};

/* Reads the option. Both texts are empty without --dependency. A value that phased cannot express
 * becomes a problem of the option. */
void sbatch_dependency_read(const struct sbatch_script *script,
                            const struct sbatch_earlier *earlier, size_t count,
                            struct sbatch_dependency *ret_dependency);
void sbatch_dependency_fini(struct sbatch_dependency *dependency);

#endif
