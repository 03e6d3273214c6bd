/* The catalogue of failures. An entry says by which printed line a failure is recognised, its cause
 * in the words of daemon/core, what to do, and whether the node or the code is to blame.
 *
 * The catalogue is data. etc/failures.yaml is built in. A user's own file comes before it, and an
 * entry of that file replaces the built-in entry of the same name. As JSON the catalogue is a list.
 * The first entry that matches a line counts:
 *
 *  {"name", "title", "pattern", "cause", "blame": "node" | "code" | "none",
 *   "tells": "cause" | "sign" | "consequence", "advice"} */
#ifndef PHASED_LIB_FAILURES_CATALOGUE_H
#define PHASED_LIB_FAILURES_CATALOGUE_H

#include "lib/spec/problems.h"

#include <stddef.h>

#include <jansson.h>

enum {
    CATALOGUE_FILE_MAX = 256 * 1024,
    CATALOGUE_ENTRIES_MAX = 300, /* in a user's file */
    CATALOGUE_PATTERN_MAX = 2000,
    CATALOGUE_TITLE_MAX = 60,
    CATALOGUE_ADVICE_MAX = 400,
};

/* The text of etc/failures.yaml. */
extern const char catalogue_builtin_text[];

/* Returns the entries of `own`, the text of a user's file (or NULL), followed by the built-in
 * entries: a new reference. An entry with a problem is left out, and all other entries stay. A
 * problem in a user's file never removes a built-in entry. */
json_t *catalogue_read(const char *own, size_t own_size, struct spec_problems *problems);

/* Like catalogue_read(), with the file at `path`, which may be absent. Problems name the file. */
json_t *catalogue_load(const char *path, struct spec_problems *problems);

#endif
