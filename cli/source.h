/* A file that somebody wants to submit: a workflow, or an sbatch script that becomes one. */
#ifndef PHASED_CLI_SOURCE_H
#define PHASED_CLI_SOURCE_H

#include <stddef.h>

struct error;

struct source {
    char *name; /* as messages name the workflow */
    char *text; /* of the workflow */
    size_t size;
};

/* What is wrong with a script, or worth a warning, is printed. Fails as file_read() does, and with
 * -EINVAL when a script cannot be made a workflow. */
int source_read(const char *file, struct source *ret_source, struct error *err);
void source_fini(struct source *source);

#endif
