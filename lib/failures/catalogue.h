/* What is known of failures: by which line of a program's output each is recognised, its cause in
 * the words of daemon/core, what to do, and whether the node or the code is to blame.
 *
 * The catalogue is data. etc/failures.yaml is built in; a user's own file comes before it, and an
 * entry there takes the place of the built-in one with its name. As JSON it is a list, in which the
 * first entry that fits a line counts:
 *
 *   {"name", "title", "pattern", "cause", "blame": "node" | "code" | "none",
 *    "tells": "cause" | "sign" | "consequence", "advice"} */
#ifndef PHASED_LIB_FAILURES_CATALOGUE_H
#define PHASED_LIB_FAILURES_CATALOGUE_H

#include "lib/spec/problems.h"

#include <stddef.h>

#include <jansson.h>

enum {
    CATALOGUE_FILE_MAX = 256 * 1024,
    CATALOGUE_ENTRIES_MAX = 300, /* of both together */
    CATALOGUE_PATTERN_MAX = 2000,
    CATALOGUE_TITLE_MAX = 60,
    CATALOGUE_ADVICE_MAX = 400,
};

/* The text of etc/failures.yaml. */
extern const char catalogue_builtin_text[];

/* The built-in catalogue, before it the entries of `own`, the text of a user's file (NULL: none).
 * An entry with a problem is left out, and the rest is good: what is wrong in a user's file never
 * costs what is built in. A new reference. */
json_t *catalogue_read(const char *own, size_t own_size, struct spec_problems *problems);

/* The same with the file at `path`, which need not be there; it is named in the problems. */
json_t *catalogue_load(const char *path, struct spec_problems *problems);

#endif
