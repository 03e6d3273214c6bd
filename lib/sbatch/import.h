/* sbatch scripts in, the text of a workflow file out: each script a phase, after the one before. */
#ifndef PHASED_LIB_SBATCH_IMPORT_H
#define PHASED_LIB_SBATCH_IMPORT_H

#include <stddef.h>

struct spec_problems;
struct text;

struct sbatch_source {
    const char *file; /* as messages and comments name it */
    const char *data;
    size_t size;
};

/* Adds the workflow to `spec`, and what is wrong with `sources[i]`, or worth a warning, to
 * `problems[i]`. `environment` (as environ, or NULL) is that of whoever imports: sbatch reads
 * variables of it. -EINVAL when one of them has errors; the text means nothing then. `count` is 1
 * or more. */
int sbatch_import(const struct sbatch_source *sources, size_t count, char *const *environment,
                  struct text *spec, struct spec_problems *problems);

#endif
