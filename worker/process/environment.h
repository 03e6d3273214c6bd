/* The environment of a process: a list of variables. A later setting replaces an earlier one. */
#ifndef PHASED_WORKER_PROCESS_ENVIRONMENT_H
#define PHASED_WORKER_PROCESS_ENVIRONMENT_H

#include "lib/text.h"

#include <stddef.h>

struct environment {
    char **entries; /* "NAME=value", NULL-terminated: what execve() takes */
    size_t count, capacity;
};

void environment_fini(struct environment *environment);
void environment_set(struct environment *environment, const char *name, const char *value);
void environment_setf(struct environment *environment, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void environment_unset(struct environment *environment, const char *name);
/* NULL when it is not set. */
const char *environment_get(const struct environment *environment, const char *name);

/* Appends `string` to `text` with $PHASED_NAME and ${PHASED_NAME} replaced by their values; other
 * dollars stay. */
void environment_expand(const struct environment *environment, const char *string,
                        struct text *text);

#endif
