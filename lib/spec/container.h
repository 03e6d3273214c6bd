/* The key `container`: the image in which `run` and `join` of a phase start. */
#ifndef PHASED_LIB_SPEC_CONTAINER_H
#define PHASED_LIB_SPEC_CONTAINER_H

#include <jansson.h>

struct key;
struct sections;

/* The reader of the key: null, or {"image", "mounts": ["FROM:TO", "FROM:TO:ro"], "runtime"}. */
void container_read(const struct sections *sections, const struct key *key, json_t *phase);

#endif
