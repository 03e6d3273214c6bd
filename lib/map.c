/* Open addressing with linear probing. A removal moves the entries behind it forward, so the table
 * needs no marks for removed entries. */
#include "lib/map.h"

#include "lib/memory.h"

#include <assert.h>
#include <stdlib.h>

enum { CAPACITY_FIRST = 64 };

static size_t home_of(const struct map *map, uint64_t key)
{
    return (size_t)((key * 0x9e3779b97f4a7c15u) >> 20) & (map->capacity - 1);
}

/* Returns the entry of the key, or the empty entry where the key belongs. */
static struct map_entry *entry_of(const struct map *map, uint64_t key)
{
    size_t i = home_of(map, key);
    while (map->entries[i].key && map->entries[i].key != key)
        i = (i + 1) & (map->capacity - 1);
    return &map->entries[i];
}

static void grow(struct map *map)
{
    struct map old = *map;
    map->capacity = old.capacity ? 2 * old.capacity : CAPACITY_FIRST;
    map->entries = xcalloc(map->capacity, sizeof *map->entries);
    for (size_t i = 0; i < old.capacity; i++)
        if (old.entries[i].key)
            *entry_of(map, old.entries[i].key) = old.entries[i];
    free(old.entries);
}

void map_fini(struct map *map)
{
    free(map->entries);
    *map = (struct map){0};
}

void *map_find(const struct map *map, uint64_t key)
{
    return map->capacity ? entry_of(map, key)->value : NULL;
}

void map_put(struct map *map, uint64_t key, void *value)
{
    assert(key && value);
    if (2 * map->count >= map->capacity)
        grow(map);
    struct map_entry *entry = entry_of(map, key);
    if (!entry->key)
        map->count++;
    *entry = (struct map_entry){.key = key, .value = value};
}

void *map_remove(struct map *map, uint64_t key)
{
    if (!map->capacity)
        return NULL;
    struct map_entry *gap = entry_of(map, key);
    void *value = gap->value;
    if (!gap->key)
        return NULL;
    size_t mask = map->capacity - 1, hole = (size_t)(gap - map->entries);
    for (size_t i = (hole + 1) & mask; map->entries[i].key; i = (i + 1) & mask) {
        size_t distance = (i - home_of(map, map->entries[i].key)) & mask;
        if (distance < ((i - hole) & mask))
            continue; /* there it would stand before the place of its key */
        map->entries[hole] = map->entries[i];
        hole = i;
    }
    map->entries[hole] = (struct map_entry){0};
    map->count--;
    return value;
}

void *map_next(const struct map *map, size_t *at)
{
    while (*at < map->capacity && !map->entries[*at].key)
        ++*at;
    return *at < map->capacity ? map->entries[(*at)++].value : NULL;
}

void *map_any(const struct map *map, uint64_t *ret_key)
{
    for (size_t i = 0; map->count && i < map->capacity; i++) {
        if (!map->entries[i].key)
            continue;
        *ret_key = map->entries[i].key;
        return map->entries[i].value;
    }
    return NULL;
}
