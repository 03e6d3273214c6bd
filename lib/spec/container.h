/* The key `container`: the image in which `run` and `join` of a phase start. */
#ifndef PHASED_LIB_SPEC_CONTAINER_H
#define PHASED_LIB_SPEC_CONTAINER_H

#include <jansson.h>
#include <stdbool.h>

struct key;
struct sections;

/* The reader of the key: null, or {"image", "mounts": ["FROM:TO", "FROM:TO:ro"], "runtime"}. */
void container_read(const struct sections *sections, const struct key *key, json_t *phase);

/* Whether the text can be one path for every runtime: runtimes use some characters as
 * separators. */
bool container_is_one_path(const char *path);
/* Whether the runtime ("apptainer", "enroot" or "podman") can use the image. */
bool container_reads(const char *runtime, const char *image);

#endif
