/* Splits a stream of bytes into lines, in bounded memory: of a line longer than the bound the rest
 * is left out. Zero-initialised with `size_max` set is a valid splitter. */
#ifndef PHASED_WORKER_LINES_H
#define PHASED_WORKER_LINES_H

#include "lib/text.h"

#include <stddef.h>

struct lines {
    size_t size_max; /* bytes of a line */
    struct text partial;
};

/* A line without its end, NUL-terminated; borrowed during the call, which must not feed. */
typedef void lines_found(void *context, const char *line, size_t size);

void lines_feed(struct lines *lines, const char *data, size_t size, lines_found *found,
                void *context);
/* Tells what came since the last line end, if anything, as a line. */
void lines_end(struct lines *lines, lines_found *found, void *context);
void lines_fini(struct lines *lines);

#endif
