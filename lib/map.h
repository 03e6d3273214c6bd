/* A table from numbers to pointers, such as from ids to objects. A zero-initialised map is valid
 * and empty. Values are borrowed and never NULL; keys are not 0. */
#ifndef PHASED_LIB_MAP_H
#define PHASED_LIB_MAP_H

#include <stddef.h>
#include <stdint.h>

struct map {
    struct map_entry {
        uint64_t key;
        void *value;
    } * entries;
    size_t count, capacity;
};

void map_fini(struct map *map);
void *map_find(const struct map *map, uint64_t key); /* NULL: absent */
void map_put(struct map *map, uint64_t key, void *value);
/* Returns the removed value, or NULL. */
void *map_remove(struct map *map, uint64_t key);
/* Returns the value at the place `*at` or the next place that has one, and moves `*at` behind it. 0
 * is the first place; NULL: there is no other value. If an entry is removed between two calls, the
 * walk may skip other entries. */
void *map_next(const struct map *map, size_t *at);
/* Returns any value; NULL: the map is empty. Serves to empty the map at the end. */
void *map_any(const struct map *map, uint64_t *ret_key);

#endif
