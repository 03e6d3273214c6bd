/* From the bytes of a YAML 1.2 (or JSON) file to a tree of nodes; the only user of libfyaml.
 *
 * The tree is built from parsing events rather than from a libfyaml document, so that its size is
 * bounded while it grows. What could make a small file large or mean something else elsewhere is
 * refused: aliases, tags, several documents, keys that are no words, keys given twice. */
#ifndef PHASED_LIB_SPEC_YAML_H
#define PHASED_LIB_SPEC_YAML_H

#include "lib/spec/node.h"

/* Reads `data` into `arena`. Problems with single values (a key given twice) are reported and the
 * rest is read on. Returns -EINVAL, and no root, when what is there cannot be read as a whole. */
int yaml_read(struct node_arena *arena, const char *data, size_t size,
              struct spec_problems *problems, struct node **ret_root);

#endif
