/* The table of keys: looking keys up, and reporting keys that it does not have. */
#include "lib/spec/keys.h"

#include "lib/protocol/words.h"
#include "lib/spec/slurm_options.h"
#include "lib/spec/yaml_node.h"
#include "lib/text.h"

#include <assert.h>
#include <string.h>

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

/* --- Unknown keys ----------------------------------------------------------------------------- */

/* What other programs call a key. */
static const struct {
    enum keys_map map;
    const char *name, *ours;
} keys_synonyms[] = {
    {KEYS_CHECK, "max", "at_most"},
    {KEYS_CHECK, "min", "at_least"},
    {KEYS_CHECK, "window", "over"},
    {KEYS_PHASE, "command", "run"},
};

static const char *keys_synonym(enum keys_map map, const char *name)
{
    for (size_t i = 0; i < sizeof keys_synonyms / sizeof keys_synonyms[0]; i++) {
        if (keys_synonyms[i].map == map && text_equal(keys_synonyms[i].name, name))
            return keys_synonyms[i].ours;
    }
    return NULL;
}

/* Adds "in a phase" or "under resources". */
static void keys_add_place(enum keys_map map, struct text *place)
{
    const char *name = keys_map_name(map);
    size_t size = strlen(name) - (text_ends(name, "_map") ? strlen("_map") : 0);
    if (map == KEYS_WORKFLOW)
        text_add(place, "at the top level");
    else if (map == KEYS_PHASE || map == KEYS_CHECK || map == KEYS_REMEDY)
        text_addf(place, "in a %s", name);
    else
        text_addf(place, "under %.*s", (int)size, name);
}

/* Adds where a key belongs that `map` does not have; nothing: the key is known nowhere. limits.yaml
 * is another file, whose keys and those of a workflow are not mixed up. */
static void keys_find_place(enum keys_map map, const char *name, struct text *place)
{
    if (map == KEYS_LIMITS)
        return;
    if (keys_find(KEYS_PHASE, name)) {
        keys_add_place(KEYS_PHASE, place);
        return;
    }
    for (enum keys_map other = KEYS_PHASE + 1; other < KEYS_LIMITS; other++) {
        if (!keys_find(other, name))
            continue;
        text_add(place, place->size ? " or " : "");
        keys_add_place(other, place);
    }
    if (!place->size && keys_find(KEYS_WORKFLOW, name))
        keys_add_place(KEYS_WORKFLOW, place);
    if (!place->size && slurm_option_find(name, NULL) >= 0)
        text_add(place, "under slurm");
}

/* Makes what follows "unknown key": what is meant, or where the key belongs. `nearest` is the key
 * of `map` that is most similar, or NULL. */
static void keys_hint(enum keys_map map, const char *name, const char *nearest, struct text *hint)
{
    struct text place = {0};
    const char *synonym = keys_synonym(map, name);
    if (!synonym)
        keys_find_place(map, name, &place);
    if (place.size)
        text_addf(hint, " (it belongs %s)", text_string(&place));
    else if (synonym || nearest)
        text_addf(hint, " (did you mean %s?)", synonym ? synonym : nearest);
    text_fini(&place);
}

bool keys_is_misspelt(const struct yaml_node *node, enum keys_map map, const char *name)
{
    const char *names[KEYS_MAX];
    size_t count = keys_list(map, names);
    /* If a map has more keys than any map of the table, this key is not its main mistake. */
    bool is_small = node->kind == YAML_MAP && node->count <= KEYS_MAX;
    for (size_t i = 0; is_small && i < node->count; i++) {
        const char *key = node->items[i]->key;
        const char *nearest = keys_find(map, key) ? NULL : text_nearest(key, names, count);
        struct text place = {0};
        if (!nearest || !text_equal(nearest, name))
            continue;
        keys_find_place(map, key, &place);
        bool is_known = place.size > 0;
        text_fini(&place);
        if (!is_known)
            return true;
    }
    return false;
}

static void keys_report(struct spec_problems *problems, const struct yaml_node *node,
                        enum keys_map map)
{
    const char *names[KEYS_MAX];
    const char *nearest = spec_problems_nearest(problems, node->key, names, keys_list(map, names));
    struct text hint = {0};
    keys_hint(map, node->key, nearest, &hint);
    if (text_equal(node->key, "<<"))
        yaml_key_problem(problems, node,
                         "merge keys are not supported: phases share by extends and defaults");
    else
        yaml_key_problem(problems, node, "unknown key%s", text_string(&hint));
    text_fini(&hint);
}

void keys_check(struct spec_problems *problems, const struct yaml_node *node, enum keys_map map)
{
    for (size_t i = 0; i < node->count; i++) {
        if (!keys_find(map, node->items[i]->key))
            keys_report(problems, node->items[i], map);
    }
}

const struct yaml_node *keys_read_map(struct spec_problems *problems, const struct yaml_node *node,
                                      enum keys_map map, const char *what)
{
    const struct yaml_node *read = yaml_map(problems, node, what);
    if (read)
        keys_check(problems, read, map);
    return read;
}
