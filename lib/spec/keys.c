/* The table of keys: looking keys up, and reporting keys that it does not have. */
#include "lib/spec/keys.h"

#include "lib/spec/node.h"
#include "lib/text.h"

#include <assert.h>

enum { KEYS_MAX = 64 }; /* more than any map has */

/* The members of a type; the table puts the braces around them. */
#define OF(name)                .form = #name
#define WHOLE(from, to)         .least = from, .most = to
#define CHOICE(...)             .words = {__VA_ARGS__}
#define LITERAL_WHOLE(from, to) .is_literal = true, WHOLE(from, to)
#define LITERAL_CHOICE(...)     .is_literal = true, CHOICE(__VA_ARGS__)

static const struct key keys[] = {
#define WORKFLOW_KEY(name, type, merge, reader, help)                                              \
    {KEYS_WORKFLOW, name, {type}, KEY_##merge, help},
#define PHASE_KEY(name, type, merge, reader, help) {KEYS_PHASE, name, {type}, KEY_##merge, help},
#define KEY(map, name, type, help)                 {KEYS_##map, name, {type}, KEY_INNER, help},
#include "lib/spec/keys.def"
};

static const char *const keys_map_names[] = {
#define MAP(symbol, name) name,
#include "lib/spec/keys.def"
};

enum { KEYS_COUNT = sizeof keys / sizeof keys[0] };

static bool keys_belongs(const struct key *key, enum keys_map map)
{
    if (map == KEYS_VARIANT)
        return key->map == KEYS_WORKFLOW && key->merge != KEY_OF_FILE;
    return key->map == map;
}

const struct key *keys_next(enum keys_map map, const struct key *previous)
{
    for (const struct key *key = previous ? previous + 1 : keys; key < keys + KEYS_COUNT; key++) {
        if (keys_belongs(key, map))
            return key;
    }
    return NULL;
}

const struct key *keys_find(enum keys_map map, const char *name)
{
    const struct key *key = keys_next(map, NULL);
    while (key && !text_equal(key->name, name))
        key = keys_next(map, key);
    return key;
}

const char *keys_map_name(enum keys_map map)
{
    assert(map < KEYS_MAPS);
    return keys_map_names[map];
}

static size_t keys_list(enum keys_map map, const char *ret_names[KEYS_MAX])
{
    size_t count = 0;
    for (const struct key *key = keys_next(map, NULL); key; key = keys_next(map, key)) {
        assert(count < KEYS_MAX);
        ret_names[count++] = key->name;
    }
    return count;
}

bool keys_is_misspelt(const struct node *node, enum keys_map map, const char *name)
{
    const char *names[KEYS_MAX];
    size_t count = keys_list(map, names);
    /* A map with more keys than the table has other mistakes than this key. */
    bool is_small = node->kind == NODE_MAP && node->count <= KEYS_MAX;
    for (size_t i = 0; is_small && i < node->count; i++) {
        const char *key = node->items[i]->key;
        const char *nearest = keys_find(map, key) ? NULL : text_nearest(key, names, count);
        if (nearest && text_equal(nearest, name))
            return true;
    }
    return false;
}

static void keys_report(struct spec_problems *problems, const struct node *node, enum keys_map map)
{
    const char *names[KEYS_MAX];
    const char *nearest = spec_problems_nearest(problems, node->key, names, keys_list(map, names));
    if (text_equal(node->key, "<<"))
        node_key_problem(problems, node,
                         "merge keys are not supported: phases share by extends and defaults");
    else if (nearest)
        node_key_problem(problems, node, "unknown key (did you mean %s?)", nearest);
    else
        node_key_problem(problems, node, "unknown key");
}

void keys_check(struct spec_problems *problems, const struct node *node, enum keys_map map)
{
    for (size_t i = 0; i < node->count; i++) {
        if (!keys_find(map, node->items[i]->key))
            keys_report(problems, node->items[i], map);
    }
}

const struct node *keys_read_map(struct spec_problems *problems, const struct node *node,
                                 enum keys_map map, const char *what)
{
    const struct node *read = node_map(problems, node, what);
    if (read)
        keys_check(problems, read, map);
    return read;
}
