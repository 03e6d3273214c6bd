/* The environment of a process: a list of variables. A later setting replaces an earlier one. */
#ifndef PHASED_WORKER_PROCESS_ENVIRONMENT_H
#define PHASED_WORKER_PROCESS_ENVIRONMENT_H

#include "lib/text.h"

#include <stdbool.h>
#include <stddef.h>

struct environment {
    char **entries; /* "NAME=value", terminated by NULL, as execve() takes them */
    size_t count, capacity;
};

void environment_fini(struct environment *environment);
void environment_set(struct environment *environment, const char *name, const char *value);
void environment_setf(struct environment *environment, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void environment_unset(struct environment *environment, const char *name);
/* NULL: the variable is not set. */
const char *environment_get(const struct environment *environment, const char *name);

/* Whether a name matches one of the patterns of fnmatch(), which end with NULL. */
bool environment_is_of(const char *name, const char *const *patterns);

/* Appends `string` to `text`. $PHASED_NAME and ${PHASED_NAME} are replaced by their values. Other
 * dollars stay. */
void environment_expand(const struct environment *environment, const char *string,
                        struct text *text);

/* Returns a path of the spec with its variables replaced. A relative path is below `workdir`, which
 * may be NULL. The caller frees the path. */
char *environment_path(const struct environment *environment, const char *path,
                       const char *workdir);
/* Like environment_path(), for a path with shell wildcards. Wildcards in values and in `workdir`
 * are escaped by a backslash, because they are in the name of a folder. */
char *environment_pattern(const struct environment *environment, const char *pattern,
                          const char *workdir);

#endif
