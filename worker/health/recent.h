/* The newest lines of a rank's log, in memory. They are searched when something has failed.
 *
 * The lines are in memory and not in a file, because a full disk is one of the failures. Adding
 * lines is a copy. A zero-initialised struct is valid and empty. */
#ifndef PHASED_WORKER_HEALTH_RECENT_H
#define PHASED_WORKER_HEALTH_RECENT_H

#include <stddef.h>

enum { RECENT_SIZE_MAX = 256 * 1024 };

struct recent {
    char *data;
    size_t size, capacity;
};

void recent_fini(struct recent *recent);

/* Adds whole lines, with their line ends. */
void recent_add(struct recent *recent, const char *lines, size_t size);

/* Returns at most RECENT_SIZE_MAX of the newest bytes, from the beginning of a line; borrowed until
 * the next call. Not terminated. */
const char *recent_lines(const struct recent *recent, size_t *ret_size);

#endif
