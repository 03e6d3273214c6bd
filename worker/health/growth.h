/* Whether something grows in a folder: a checkpoint that takes long to be written is no hang, also
 * while it has another name than it will have. */
#ifndef PHASED_WORKER_HEALTH_GROWTH_H
#define PHASED_WORKER_HEALTH_GROWTH_H

#include <stdint.h>

/* A number that changes with the names, sizes and times of the files in `folder` and in the folders
 * in it. Not deeper, as programs keep diaries there that go on while they hang. At most some
 * thousand files are looked at. */
uint64_t growth_measure(const char *folder);

#endif
