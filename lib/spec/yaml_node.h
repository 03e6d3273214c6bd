/* The tree of a workflow file, with the position of each node.
 *
 * Nodes live as long as the arena in which they are made. They do not change after reading, so a
 * merged tree shares the nodes that it did not change. A node knows where it was *written*
 * (position, key, parent), and problems are reported there. */
#ifndef PHASED_LIB_SPEC_YAML_NODE_H
#define PHASED_LIB_SPEC_YAML_NODE_H

#include "lib/spec/problems.h"

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

enum {
    YAML_DEPTH_MAX = 32,     /* maps and lists inside each other; bounds every recursion */
    YAML_ENTRIES_MAX = 1000, /* keys of one map: as many as a workflow may have phases */
    YAML_COUNT_MAX = 100000, /* nodes of a file, and of all phases after merging */
};

enum yaml_kind {
    YAML_NULL, /* written as nothing, `~` or `null` */
    YAML_SCALAR,
    YAML_LIST,
    YAML_MAP,
};

struct yaml_node {
    enum yaml_kind kind;
    bool is_plain;   /* a scalar without quotes: its text decides its type */
    bool is_flow;    /* a list in [ ] or a map in { } */
    bool is_exact;   /* a plain scalar on one line: its text stands in the file as it is */
    bool is_block;   /* a text of `|`: it has the lines of the file, without `indent` spaces */
    bool is_cut;     /* a scalar that a comma ended too early; this has been reported */
    bool takes_away; /* a null of a variant that has removed a value */
    bool is_used;    /* a param that something refers to; set by lib/spec/scope.c */
    unsigned indent;
    size_t begin, end; /* the bytes of a scalar in the file, quotes included */
    unsigned line, column;
    unsigned key_line, key_column; /* of the key; 0: no key */
    const char *key;               /* the key in `parent`; NULL for the root and in lists */
    const struct yaml_node *parent;
    size_t index; /* the place in a list */
    const char *text;
    size_t count;
    struct yaml_node **items; /* of a list or map */
};

struct yaml_chunk;

struct yaml_arena {
    struct yaml_chunk *chunks;
    size_t node_count;
};

void yaml_arena_fini(struct yaml_arena *arena);

/* A new zeroed node. */
struct yaml_node *yaml_new(struct yaml_arena *arena, enum yaml_kind kind);
/* A copy of `size` bytes, terminated. */
const char *yaml_text(struct yaml_arena *arena, const char *bytes, size_t size);
/* Puts `item` at the end of the list or map `node`. */
void yaml_append(struct yaml_arena *arena, struct yaml_node *node, struct yaml_node *item);

/* Returns the entry of `map` named `key`. Returns NULL if there is no such entry, if it is null, or
 * if `map` is NULL or no map. */
struct yaml_node *yaml_get(const struct yaml_node *map, const char *key);
/* As yaml_get(), but returns nulls too. */
struct yaml_node *yaml_get_any(const struct yaml_node *map, const char *key);

/* Returns `node` if it is a map. Returns NULL if it is NULL, or after it is reported as no map:
 * "must be WHAT". */
const struct yaml_node *yaml_map(struct spec_problems *problems, const struct yaml_node *node,
                                 const char *what);

/* The value of a text without quotes, a new reference: a number, true, false, or else a string.
 * Texts that a program may want to see as they are written stay strings: `True`, `007`, `0x1f`,
 * `1_000`, `yes`, a whole number of more than 64 bits. */
json_t *yaml_plain_value(const char *text);
/* The value of a scalar as it is written, with its references; a new reference. */
json_t *yaml_value(const struct yaml_node *node);

/* Warns of a number with needless zeros in front, such as 010: it is a text, because other
 * languages read it as 8. */
void yaml_warn_of_zeros(struct spec_problems *problems, const struct yaml_node *node);

/* Reports a problem with the value of `node`. For maps, lists and nulls, it has the position of
 * their key. */
void yaml_problem(struct spec_problems *problems, const struct yaml_node *node, const char *format,
                  ...) __attribute__((format(printf, 3, 4)));
/* As yaml_problem(), but with the position of byte `offset` of the text, if it is known. */
void yaml_problem_at(struct spec_problems *problems, const struct yaml_node *node, size_t offset,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));
void yaml_warning_at(struct spec_problems *problems, const struct yaml_node *node, size_t offset,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));
/* As yaml_problem(), but with the position of the key. */
void yaml_key_problem(struct spec_problems *problems, const struct yaml_node *node,
                      const char *format, ...) __attribute__((format(printf, 3, 4)));
void yaml_key_warning(struct spec_problems *problems, const struct yaml_node *node,
                      const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Reports that `map` lacks `key`. */
void yaml_missing(struct spec_problems *problems, const struct yaml_node *map, const char *key,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Puts `overlay` over `base`; either may be NULL. Maps merge by key, everything else replaces. A
 * null removes the value of `base` and stays as a null. A null without a value to remove is a
 * problem, because a forgotten value (a check without its condition) looks the same. The result
 * shares nodes with both. */
struct yaml_node *yaml_merge(struct yaml_arena *arena, struct yaml_node *base,
                             struct yaml_node *overlay, struct spec_problems *problems);

/* A copy of the map `node` with the same entries, so that entries can be added and removed. */
struct yaml_node *yaml_copy_map(struct yaml_arena *arena, const struct yaml_node *node);
/* Replaces the entry with the key of `item`, or adds `item` at the end. */
void yaml_replace(struct yaml_arena *arena, struct yaml_node *map, struct yaml_node *item);
/* Removes the entry named `key`, if there is one. */
void yaml_remove(struct yaml_node *map, const char *key);

/* Adds the nodes and the bytes of text of a tree. */
void yaml_measure(const struct yaml_node *node, size_t *nodes, size_t *bytes);

#endif
