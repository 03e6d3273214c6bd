/* Splits a stream of bytes into lines, in bounded memory: a line that is too long is cut. A
 * zero-initialised struct with `size_max` set is valid. */
#ifndef PHASED_WORKER_LINES_H
#define PHASED_WORKER_LINES_H

#include "lib/text.h"

#include <stddef.h>

struct lines {
    size_t size_max; /* bytes of a line */
    struct text partial;
};

/* Takes a line, NUL-terminated and without its end; borrowed during the call. Must not call
 * lines_feed(). */
typedef void lines_found(void *context, const char *line, size_t size);

void lines_feed(struct lines *lines, const char *data, size_t size, lines_found *found,
                void *context);
/* Gives the text after the last line end as a line, if there is any. */
void lines_end(struct lines *lines, lines_found *found, void *context);
void lines_fini(struct lines *lines);

#endif
