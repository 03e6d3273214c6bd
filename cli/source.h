/* A file that somebody wants to submit: a workflow, or an sbatch script that becomes one. */
#ifndef PHASED_CLI_SOURCE_H
#define PHASED_CLI_SOURCE_H

#include <stddef.h>

struct error;
struct spec_problems;

struct sbatch_arguments;

struct source {
    char *name; /* as messages name the workflow */
    char *text; /* of the workflow */
    size_t size;
    const char *script; /* borrowed: the file, where it is a script; NULL: it is a workflow */
    unsigned run_line;  /* of a script: the line of `run:` in the text, before its first line */
};

/* What is wrong with a script, or worth a warning, is printed. `arguments` are the script's; a
 * workflow takes none. Fails as file_read() does, and with -EINVAL when a script cannot be made a
 * workflow. */
int source_read(const char *file, const struct sbatch_arguments *arguments,
                struct source *ret_source, struct error *err);
void source_fini(struct source *source);

/* Problems of the text become problems of the file: those of a script get its lines, or none where
 * they are about what was written around it. */
void source_place(const struct source *source, struct spec_problems *problems);

#endif
