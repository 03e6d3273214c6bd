/* What --dependency of a script becomes: phases that come before, and jobs of Slurm. */
#ifndef PHASED_LIB_SBATCH_DEPENDENCY_H
#define PHASED_LIB_SBATCH_DEPENDENCY_H

#include "lib/text.h"

#include <stddef.h>

struct sbatch_script;

/* A script that was read before. Borrowed. */
struct sbatch_earlier {
    const char *title; /* of the script, as --job-name says it */
    const char *phase;
};

struct sbatch_dependency {
    struct text after; /* `prepare, data`: phases that are named; empty: none is */
    struct text kept;  /* what stays for Slurm */
};

/* Without a --dependency both are empty. What cannot be done is a problem at the option. */
void sbatch_dependency_read(const struct sbatch_script *script,
                            const struct sbatch_earlier *earlier, size_t count,
                            struct sbatch_dependency *ret_dependency);
void sbatch_dependency_fini(struct sbatch_dependency *dependency);

#endif
