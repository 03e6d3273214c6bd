/* The tree that a workflow file is, with the place of everything in it.
 *
 * Nodes are made in an arena and live as long as it does. They are not changed once read, so merged
 * trees share what they did not change: a node tells where it was *written* (position, key,
 * parent), wherever it takes effect. That is what problems are reported with. */
#ifndef PHASED_LIB_SPEC_NODE_H
#define PHASED_LIB_SPEC_NODE_H

#include "lib/spec/problems.h"

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

enum {
    NODE_DEPTH_MAX = 32,     /* maps and lists inside each other: bounds every recursion */
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
    bool is_block;   /* a text of `|`, whose lines are those of the file, behind `indent` spaces */
    bool is_cut;     /* a scalar that a comma ended too early, which has been told */
    bool takes_away; /* a null that has taken away what a variant was put over */
    bool is_used;    /* a param that something refers to; set by lib/spec/scope.c */
    unsigned indent;
    unsigned line, column;
    unsigned key_line, key_column; /* of its key; 0: it has none */
    const char *key;               /* in `parent`; NULL for the root and in lists */
    const struct node *parent;
    size_t index; /* in a list */
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

/* The entry of `map` named `key`; NULL when there is none or it is null, or when `map` is NULL or
 * no map. */
struct node *node_get(const struct node *map, const char *key);
/* The same, nulls included. */
struct node *node_get_any(const struct node *map, const char *key);

/* The value of a text without quotes, the caller's: a number, true, false, or else a string. Texts
 * that a program may want to see as they are written stay strings: `True`, `007`, `0x1f`, `1_000`,
 * `yes`, a whole number of more than 64 bits. */
json_t *node_plain_value(const char *text);
/* The value of a scalar as it is written, references included; the caller's. */
json_t *node_value(const struct node *node);

/* Says what is wrong with the value of `node`; maps, lists and nulls are pointed at by their key.
 */
void node_problem(struct spec_problems *problems, const struct node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same, pointing at byte `offset` of the text where that can be told. */
void node_problem_at(struct spec_problems *problems, const struct node *node, size_t offset,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));
void node_warning_at(struct spec_problems *problems, const struct node *node, size_t offset,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The same, pointing at the key. */
void node_key_problem(struct spec_problems *problems, const struct node *node, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));
void node_key_warning(struct spec_problems *problems, const struct node *node, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));
/* Says that `map` lacks `key`, or what is wrong with its absence. */
void node_missing(struct spec_problems *problems, const struct node *map, const char *key,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));

/* `overlay` over `base` (either may be NULL): maps merge by key, all else replaces. A null takes
 * away what `base` has and stays as a null; one with nothing to take away is a problem, since a
 * forgotten value (a check without its condition) looks like that. The result shares nodes with
 * both. */
struct node *node_merge(struct node_arena *arena, struct node *base, struct node *overlay,
                        struct spec_problems *problems);

/* A copy of the map `node`, whose entries are shared, for changing its list of entries. */
struct node *node_copy_map(struct node_arena *arena, const struct node *node);
/* Puts `item` in the place of the entry with its key, or at the end. */
void node_replace(struct node_arena *arena, struct node *map, struct node *item);
/* Takes the entry named `key` out, if there is one. */
void node_remove(struct node *map, const char *key);

/* Adds the nodes and the bytes of text of a tree. */
void node_measure(const struct node *node, size_t *nodes, size_t *bytes);

#endif
