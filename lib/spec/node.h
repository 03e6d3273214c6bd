/* The tree of a workflow file, with the position of each node.
 *
 * Nodes live as long as the arena in which they are made. They do not change after reading, so a
 * merged tree shares the nodes that it did not change. A node knows where it was *written*
 * (position, key, parent), and problems are reported there. */
#ifndef PHASED_LIB_SPEC_NODE_H
#define PHASED_LIB_SPEC_NODE_H

#include "lib/spec/problems.h"

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

enum {
    NODE_DEPTH_MAX = 32,     /* maps and lists inside each other; bounds every recursion */
    NODE_ENTRIES_MAX = 1000, /* keys of one map: as many as a workflow may have phases */
    NODE_COUNT_MAX = 100000, /* nodes of a file, and of all phases after merging */
};

enum node_kind {
    NODE_NULL, /* written as nothing, `~` or `null` */
    NODE_SCALAR,
    NODE_LIST,
    NODE_MAP,
};

struct node {
    enum node_kind kind;
    bool is_plain;   /* a scalar without quotes: its text tells its type */
    bool is_flow;    /* a list in [ ] or a map in { } */
    bool is_exact;   /* a plain scalar on one line: its text stands in the file as it is */
    bool is_block;   /* a text of `|`: its lines are those of the file, without `indent` spaces */
    bool is_cut;     /* a scalar that a comma ended too early; this has been reported */
    bool takes_away; /* a null of a variant that has removed a value */
    bool is_used;    /* a param that something refers to; set by lib/spec/scope.c */
    unsigned indent;
    size_t begin, end; /* the bytes of a scalar in the file, quotes included */
    unsigned line, column;
    unsigned key_line, key_column; /* of the key; 0: no key */
    const char *key;               /* the key in `parent`; NULL for the root and in lists */
    const struct node *parent;
    size_t index; /* the place in a list */
    const char *text;
    size_t count;
    struct node **items; /* of a list or map */
};

struct node_chunk;

struct node_arena {
    struct node_chunk *chunks;
    size_t node_count;
};

void node_arena_fini(struct node_arena *arena);

/* A new zeroed node. */
struct node *node_new(struct node_arena *arena, enum node_kind kind);
/* A copy of `size` bytes, terminated. */
const char *node_text(struct node_arena *arena, const char *bytes, size_t size);
/* Puts `item` at the end of the list or map `node`. */
void node_append(struct node_arena *arena, struct node *node, struct node *item);

/* Returns the entry of `map` named `key`. Returns NULL if there is no such entry, if it is null, or
 * if `map` is NULL or no map. */
struct node *node_get(const struct node *map, const char *key);
/* As node_get(), but returns nulls too. */
struct node *node_get_any(const struct node *map, const char *key);

/* Returns `node` if it is a map. Returns NULL if it is NULL, or after it is reported as no map:
 * "must be WHAT". */
const struct node *node_map(struct spec_problems *problems, const struct node *node,
                            const char *what);

/* The value of a text without quotes, the caller's: a number, true, false, or else a string. Texts
 * that a program may want to see as they are written stay strings: `True`, `007`, `0x1f`, `1_000`,
 * `yes`, a whole number of more than 64 bits. */
json_t *node_plain_value(const char *text);
/* The value of a scalar as it is written, references included; the caller's. */
json_t *node_value(const struct node *node);

/* Reports a problem with the value of `node`. For maps, lists and nulls, it has the position of
 * their key. */
void node_problem(struct spec_problems *problems, const struct node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* As node_problem(), but with the position of byte `offset` of the text, if it is known. */
void node_problem_at(struct spec_problems *problems, const struct node *node, size_t offset,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));
void node_warning_at(struct spec_problems *problems, const struct node *node, size_t offset,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));
/* As node_problem(), but with the position of the key. */
void node_key_problem(struct spec_problems *problems, const struct node *node, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));
void node_key_warning(struct spec_problems *problems, const struct node *node, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));
/* Reports that `map` lacks `key`. */
void node_missing(struct spec_problems *problems, const struct node *map, const char *key,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Puts `overlay` over `base`; either may be NULL. Maps merge by key, everything else replaces. A
 * null removes the value of `base` and stays as a null. A null without a value to remove is a
 * problem, because a forgotten value (a check without its condition) looks the same. The result
 * shares nodes with both. */
struct node *node_merge(struct node_arena *arena, struct node *base, struct node *overlay,
                        struct spec_problems *problems);

/* A copy of the map `node` with the same entries, so that entries can be added and removed. */
struct node *node_copy_map(struct node_arena *arena, const struct node *node);
/* Replaces the entry with the key of `item`, or adds `item` at the end. */
void node_replace(struct node_arena *arena, struct node *map, struct node *item);
/* Removes the entry named `key`, if there is one. */
void node_remove(struct node *map, const char *key);

/* Adds the nodes and the bytes of text of a tree. */
void node_measure(const struct node *node, size_t *nodes, size_t *bytes);

#endif
