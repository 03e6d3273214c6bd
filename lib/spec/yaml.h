/* From the bytes of a YAML 1.2 (or JSON) file to a tree of nodes. This is the only user of
 * libfyaml.
 *
 * The tree is built from parsing events and not from a document of libfyaml, so that its size is
 * bounded while it grows. The reader refuses what could make a small file large, or mean something
 * else elsewhere: aliases, tags, several documents, keys that are not words, and keys that come
 * twice. */
#ifndef PHASED_LIB_SPEC_YAML_H
#define PHASED_LIB_SPEC_YAML_H

#include "lib/spec/yaml_node.h"

/* The most line ends without a letter between them. libfyaml's time for empty lines in a text grows
 * with the square of their number. */
enum { YAML_BLANK_LINES_MAX = 1000 };

/* Whether a file has only comments and white space. */
bool yaml_is_blank(const char *data, size_t size);

/* Reads `data` into `arena`. A problem with a single value (a key that comes twice) is reported,
 * and the reader goes on. Returns -EINVAL, without a root, if the data cannot be read as a
 * whole. */
int yaml_read(struct yaml_arena *arena, const char *data, size_t size,
              struct spec_problems *problems, struct yaml_node **ret_root);

#endif
