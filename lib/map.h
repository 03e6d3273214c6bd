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
/* Returns what was there, or NULL. */
void *map_remove(struct map *map, uint64_t key);
/* The next value from place `*at` on, where 0 is the first; NULL: it was the last. Of those that
 * are left when one is removed meanwhile, some may be passed over. */
void *map_next(const struct map *map, size_t *at);
/* Any value; NULL when the map is empty. For emptying it at the end. */
void *map_any(const struct map *map, uint64_t *ret_key);

#endif
