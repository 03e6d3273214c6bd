/* The keys of a workflow file: which keys each map may have, of what type they are, and how they
 * merge. The table is lib/spec/keys.def. */
#ifndef PHASED_LIB_SPEC_KEYS_H
#define PHASED_LIB_SPEC_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct yaml_node;
struct spec_problems;

enum keys_map {
#define MAP(symbol, name) KEYS_##symbol,
#include "lib/spec/keys.def"
    KEYS_MAPS,
    KEYS_VARIANT = KEYS_MAPS, /* the keys of the workflow that a variant may have */
};

/* What happens when two values of the same key meet. */
enum key_merge {
    KEY_INNER, /* a key of an inner map: follows the rule of the map */
    /* Keys of the workflow, when a variant is put over the file. */
    KEY_OF_FILE,  /* a variant cannot have it */
    KEY_REPLACED, /* replaces the value of the file, maps too */
    KEY_MERGED,
    KEY_COMMON, /* merges, and lies below `defaults` */
    /* Keys of a phase. */
    KEY_OWN,       /* neither defaults nor extends give it */
    KEY_OF_MATRIX, /* as KEY_OWN, and the members of the matrix do not have the key */
    KEY_DEFAULTED, /* defaults give it; extends and the matrix do not */
    KEY_INHERITED, /* defaults, extends and the matrix give it */
    KEY_BY_GPU,    /* as KEY_INHERITED, and by_gpu can change it */
};

enum { KEY_WORDS_MAX = 4 };

struct key_type {
    const char *form; /* a form of schema/forms.json; NULL: a whole number or a choice */
    bool is_literal;  /* no $param can stand here */
    int64_t least, most;
    const char *words[KEY_WORDS_MAX + 1]; /* of a choice, the default first; ends with NULL */
};

struct key {
    enum keys_map map;
    const char *name;
    struct key_type type;
    enum key_merge merge;
    const char *help;
};

/* Returns the key after `previous` in the order of the table, NULL at the end. If `previous` is
 * NULL, returns the first key of `map`. */
const struct key *keys_next(enum keys_map map, const struct key *previous);
/* The key of `map` with this name; NULL: there is no such key. */
const struct key *keys_find(enum keys_map map, const char *name);
const char *keys_map_name(enum keys_map map);

/* Reports the keys of `node` that `map` does not have. */
void keys_check(struct spec_problems *problems, const struct yaml_node *node, enum keys_map map);
/* As yaml_map(), and checks the keys. */
const struct yaml_node *keys_read_map(struct spec_problems *problems, const struct yaml_node *node,
                                      enum keys_map map, const char *what);

/* Whether an unknown key of `node` is nearest to `name`. Then that key is the mistake, and `name`
 * is not missing. */
bool keys_is_misspelt(const struct yaml_node *node, enum keys_map map, const char *name);

#endif
