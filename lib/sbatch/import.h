/* sbatch scripts in, the text of a workflow file out: each script a phase, after the one before. */
#ifndef PHASED_LIB_SBATCH_IMPORT_H
#define PHASED_LIB_SBATCH_IMPORT_H

#include <stdbool.h>
#include <stddef.h>

struct spec_problems;
struct text;

/* What a script is given as $1, $2 and so on. */
struct sbatch_arguments {
    const char *const *items;
    size_t count;
};

/* All borrowed. */
struct sbatch_source {
    const char *file; /* as messages and comments name it */
    const char *data;
    size_t size;
    const struct sbatch_arguments *arguments; /* NULL: none */
    /* For a program, not for a person who edits the workflow: the n-th line of `run` is the n-th of
     * the script, so that what bash says of its lines is true of the script. */
    bool keeps_lines;
};

/* Adds the workflow to `spec`, and what is wrong with `sources[i]`, or worth a warning, to
 * `problems[i]`. `environment` (as environ, or NULL) is that of whoever imports: sbatch reads
 * variables of it. -EINVAL when one of them has errors; the text means nothing then. `count` is 1
 * or more. */
int sbatch_import(const struct sbatch_source *sources, size_t count, char *const *environment,
                  struct text *spec, struct spec_problems *problems);

#endif
