/* A hash table with open addressing, never more than half full. */
#include "daemon/store/names.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

static size_t names_slot(const struct names *names, const char *name)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (const char *c = name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    size_t slot = hash % NAMES_SLOTS;
    while (names->entries[slot].name && strcmp(names->entries[slot].name, name) != 0)
        slot = (slot + 1) % NAMES_SLOTS;
    return slot;
}

void names_clear(struct names *names)
{
    for (size_t i = 0; names->count > 0 && i < NAMES_SLOTS; i++) {
        free(names->entries[i].name);
        names->entries[i] = (struct names_entry){0};
    }
    names->count = 0;
}

void names_fini(struct names *names)
{
    names_clear(names);
    free(names->entries);
    *names = (struct names){0};
}

int64_t names_find(const struct names *names, const char *name)
{
    return names->entries ? names->entries[names_slot(names, name)].id : 0;
}

void names_add(struct names *names, const char *name, int64_t id)
{
    if (!names->entries)
        names->entries = xcalloc(NAMES_SLOTS, sizeof *names->entries);
    char *copy = xstrdup(name);
    if (names->count == NAMES_COUNT_MAX)
        names_clear(names);
    names->entries[names_slot(names, name)] = (struct names_entry){copy, id};
    names->count++;
}
