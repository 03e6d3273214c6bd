/* The newest lines of a rank's log, in memory: what is looked at when something has failed.
 *
 * Adding costs a copy. A file would not do: a full disk is one of the failures. Zero-initialised is
 * a valid empty one. */
#ifndef PHASED_WORKER_HEALTH_RECENT_H
#define PHASED_WORKER_HEALTH_RECENT_H

#include <stddef.h>

enum { RECENT_SIZE_MAX = 256 * 1024 };

struct recent {
    char *data;
    size_t size, capacity;
};

void recent_fini(struct recent *recent);

/* Adds whole lines, with their ends. */
void recent_add(struct recent *recent, const char *lines, size_t size);

/* At most the RECENT_SIZE_MAX newest bytes, from the beginning of a line on; borrowed until the
 * next call. Not terminated. */
const char *recent_lines(const struct recent *recent, size_t *ret_size);

#endif
