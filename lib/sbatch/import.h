/* Translates sbatch scripts into the text of a workflow file. Each script becomes a phase, after
 * the phase of the script before. */
#ifndef PHASED_LIB_SBATCH_IMPORT_H
#define PHASED_LIB_SBATCH_IMPORT_H

#include <stdbool.h>
#include <stddef.h>

struct spec_problems;
struct text;

/* Words: the arguments of a script ($1, $2 and so on), or options of sbatch. */
struct sbatch_arguments {
    const char *const *items;
    size_t count;
};

/* All members are borrowed. */
struct sbatch_source {
    const char *file; /* the name in messages and comments */
    const char *data;
    size_t size;
    const struct sbatch_arguments *arguments; /* NULL: no arguments */
    /* Options of sbatch that were given before the script, such as --nodes and 2. They override its
     * lines and the variables. NULL: no options. */
    const struct sbatch_arguments *options;
    /* For a program that runs the workflow, not for a person who edits it: line n of `run` is line
     * n of the script, so that bash's messages have the line numbers of the script. */
    bool keeps_lines;
};

/* Adds the workflow to `spec`, and the problems and warnings of `sources[i]` to `problems[i]`.
 * `environment` (like environ, or NULL) is the environment of the importing user, because sbatch
 * reads variables. `count` is 1 or more. -EINVAL: a script has errors, and the text is not
 * usable. */
int sbatch_import(const struct sbatch_source *sources, size_t count, char *const *environment,
                  struct text *spec, struct spec_problems *problems);

#endif
