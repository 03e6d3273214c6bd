/* Nodes, their arena, merging, and problems by node. */
#include "lib/spec/node.h"

#include "lib/memory.h"
#include "lib/text.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    NODE_CHUNK_SIZE = 64 * 1024 - 64,
    NODE_KEY_SHOWN = 80, /* bytes of a key in a path; no key of the table is longer */
};

struct node_chunk {
    struct node_chunk *next;
    size_t used, size;
    max_align_t data[];
};

void node_arena_fini(struct node_arena *arena)
{
    while (arena->chunks) {
        struct node_chunk *next = arena->chunks->next;
        free(arena->chunks);
        arena->chunks = next;
    }
    arena->node_count = 0;
}

static void *node_allocate(struct node_arena *arena, size_t size)
{
    size = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    struct node_chunk *chunk = arena->chunks;
    if (!chunk || chunk->size - chunk->used < size) {
        size_t chunk_size = size > NODE_CHUNK_SIZE ? size : NODE_CHUNK_SIZE;
        chunk = xmalloc(sizeof *chunk + chunk_size);
        *chunk = (struct node_chunk){.next = arena->chunks, .size = chunk_size};
        arena->chunks = chunk;
    }
    void *memory = (char *)chunk->data + chunk->used;
    chunk->used += size;
    return memory;
}

struct node *node_new(struct node_arena *arena, enum node_kind kind)
{
    struct node *node = node_allocate(arena, sizeof *node);
    *node = (struct node){.kind = kind, .text = ""};
    arena->node_count++;
    return node;
}

const char *node_text(struct node_arena *arena, const char *bytes, size_t size)
{
    char *text = node_allocate(arena, size + 1);
    if (size)
        memcpy(text, bytes, size);
    text[size] = '\0';
    return text;
}

/* The arrays grow at powers of two, so that their capacity need not be kept. */
void node_append(struct node_arena *arena, struct node *node, struct node *item)
{
    if ((node->count & (node->count - 1)) == 0) {
        size_t capacity = node->count ? node->count * 2 : 1;
        struct node **items = node_allocate(arena, capacity * sizeof *items);
        if (node->count)
            memcpy(items, node->items, node->count * sizeof *items);
        node->items = items;
    }
    node->items[node->count++] = item;
}

struct node *node_get_any(const struct node *map, const char *key)
{
    if (!map || map->kind != NODE_MAP)
        return NULL;
    for (size_t i = 0; i < map->count; i++) {
        if (text_equal(map->items[i]->key, key))
            return map->items[i];
    }
    return NULL;
}

struct node *node_get(const struct node *map, const char *key)
{
    struct node *node = node_get_any(map, key);
    return node && node->kind != NODE_NULL ? node : NULL;
}

static size_t node_digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* [-+]? (digits | digits . digits? | . digits) ([eE] [-+]? digits)? */
static bool node_is_number(const char *text, bool *ret_is_whole)
{
    text += *text == '-' || *text == '+';
    size_t whole = node_digits(text), fraction = 0;
    bool has_leading_zero = text[0] == '0' && whole > 1;
    text += whole;
    *ret_is_whole = *text == '\0';
    if (*text == '.') {
        fraction = node_digits(++text);
        text += fraction;
    }
    if (whole + fraction == 0 || has_leading_zero)
        return false;
    if (*text == 'e' || *text == 'E') {
        text++;
        text += *text == '-' || *text == '+';
        size_t exponent = node_digits(text);
        text += exponent;
        return exponent && *text == '\0';
    }
    return *text == '\0';
}

json_t *node_plain_value(const char *text)
{
    bool is_whole;
    if (text_equal(text, "true") || text_equal(text, "false"))
        return json_boolean(text_equal(text, "true"));
    if (!node_is_number(text, &is_whole))
        return json_string(text);
    errno = 0;
    if (is_whole) {
        long long number = strtoll(text, NULL, 10);
        return errno ? json_string(text) : json_integer(number);
    }
    double number = strtod(text, NULL);
    return isfinite(number) ? json_real(number) : json_string(text);
}

json_t *node_value(const struct node *node)
{
    return node->is_plain ? node_plain_value(node->text) : json_string(node->text);
}

/* `--set validate.depth=12` has the path "--set validate.depth". */
static const char *node_separator(const struct text *path)
{
    if (!path->size)
        return "";
    return text_ends(text_string(path), "--set") ? " " : ".";
}

static void node_add_path(const struct node *node, struct text *path)
{
    if (node->parent)
        node_add_path(node->parent, path);
    if (node->key)
        text_addf(path, "%s%.*s%s", node_separator(path), NODE_KEY_SHOWN, node->key,
                  strlen(node->key) > NODE_KEY_SHOWN ? "..." : "");
    else if (node->parent && node->parent->kind == NODE_LIST)
        text_addf(path, "[%zu]", node->index);
}

/* Where a problem points: at the value of a node, or at its key. */
enum node_place { NODE_VALUE, NODE_KEY };

__attribute__((format(printf, 6, 0))) static void
node_report(struct spec_problems *problems, enum spec_severity severity, const struct node *node,
            const char *key, enum node_place place, const char *format, va_list args)
{
    struct text path = {0};
    node_add_path(node, &path);
    if (key)
        text_addf(&path, "%s%s", node_separator(&path), key);
    bool at_key = place == NODE_KEY && node->key_line;
    spec_problems_addv(problems, severity, at_key ? node->key_line : node->line,
                       at_key ? node->key_column : node->column, text_string(&path), format, args);
    text_fini(&path);
}

void node_problem(struct spec_problems *problems, const struct node *node, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    node_report(problems, SPEC_ERROR, node, NULL, node->kind == NODE_SCALAR ? NODE_VALUE : NODE_KEY,
                format, args);
    va_end(args);
}

/* The node as if it began at byte `offset` of its text, if the place of that byte is known. */
static struct node node_at(const struct node *node, size_t offset)
{
    struct node place = *node;
    if (node->is_block)
        place.column = node->indent + 1;
    for (size_t i = 0; (node->is_exact || node->is_block) && i < offset && node->text[i]; i++) {
        bool is_end = node->text[i] == '\n';
        place.line += is_end;
        if (is_end)
            place.column = node->indent + 1;
        else
            place.column += ((unsigned char)node->text[i] & 0xc0) != 0x80; /* counts characters */
    }
    return place;
}

void node_problem_at(struct spec_problems *problems, const struct node *node, size_t offset,
                     const char *format, ...)
{
    const struct node place = node_at(node, offset);
    va_list args;
    va_start(args, format);
    node_report(problems, SPEC_ERROR, &place, NULL, NODE_VALUE, format, args);
    va_end(args);
}

void node_warning_at(struct spec_problems *problems, const struct node *node, size_t offset,
                     const char *format, ...)
{
    const struct node place = node_at(node, offset);
    va_list args;
    va_start(args, format);
    node_report(problems, SPEC_WARNING, &place, NULL, NODE_VALUE, format, args);
    va_end(args);
}

void node_key_problem(struct spec_problems *problems, const struct node *node, const char *format,
                      ...)
{
    va_list args;
    va_start(args, format);
    node_report(problems, SPEC_ERROR, node, NULL, NODE_KEY, format, args);
    va_end(args);
}

void node_key_warning(struct spec_problems *problems, const struct node *node, const char *format,
                      ...)
{
    va_list args;
    va_start(args, format);
    node_report(problems, SPEC_WARNING, node, NULL, NODE_KEY, format, args);
    va_end(args);
}

void node_missing(struct spec_problems *problems, const struct node *map, const char *key,
                  const char *format, ...)
{
    va_list args;
    va_start(args, format);
    node_report(problems, SPEC_ERROR, map, key, NODE_KEY, format, args);
    va_end(args);
}

const struct node *node_map(struct spec_problems *problems, const struct node *node,
                            const char *what)
{
    if (node && node->kind == NODE_MAP)
        return node;
    if (node)
        node_problem(problems, node, "must be %s", what);
    return NULL;
}

struct node *node_copy_map(struct node_arena *arena, const struct node *node)
{
    struct node *copy = node_new(arena, NODE_MAP);
    *copy = *node;
    copy->items = NULL;
    copy->count = 0;
    for (size_t i = 0; i < node->count; i++)
        node_append(arena, copy, node->items[i]);
    return copy;
}

void node_replace(struct node_arena *arena, struct node *map, struct node *item)
{
    for (size_t i = 0; i < map->count; i++) {
        if (text_equal(map->items[i]->key, item->key)) {
            map->items[i] = item;
            return;
        }
    }
    node_append(arena, map, item);
}

void node_remove(struct node *map, const char *key)
{
    for (size_t i = 0; i < map->count; i++) {
        if (!text_equal(map->items[i]->key, key))
            continue;
        /* The lower count may be a power of two. Then node_append() makes a new array. That is
         * correct, and it wastes a little of the arena. */
        memmove(&map->items[i], &map->items[i + 1], (map->count - i - 1) * sizeof(struct node *));
        map->count--;
        return;
    }
}

static void node_refuse_nulls(const struct node *map, struct spec_problems *problems)
{
    for (size_t i = 0; i < map->count; i++) {
        const struct node *item = map->items[i];
        if (item->kind == NODE_NULL && !item->takes_away)
            node_problem(
                problems, item,
                "no value: null removes what extends or defaults give, and they give nothing");
        else if (item->kind == NODE_MAP)
            node_refuse_nulls(item, problems);
    }
}

struct node *node_merge(struct node_arena *arena, struct node *base, struct node *overlay,
                        struct spec_problems *problems)
{
    if (!overlay)
        return base;
    if (overlay->kind != NODE_MAP)
        return overlay;
    if (!base || base->kind != NODE_MAP) {
        node_refuse_nulls(overlay, problems);
        return overlay;
    }
    struct node *merged = node_copy_map(arena, base);
    merged->parent = overlay->parent;
    merged->key = overlay->key;
    merged->key_line = overlay->key_line;
    merged->key_column = overlay->key_column;
    merged->line = overlay->line;
    merged->column = overlay->column;
    merged->is_flow = overlay->is_flow;
    for (size_t i = 0; i < overlay->count; i++) {
        struct node *item = overlay->items[i];
        struct node *old = node_get(base, item->key);
        const struct node *any = node_get_any(base, item->key); /* a variant may have removed it */
        if (item->kind == NODE_NULL && !old && !item->takes_away && !(any && any->takes_away))
            node_problem(
                problems, item,
                "no value: null removes what extends or defaults give, and they give nothing");
        node_replace(arena, merged, node_merge(arena, old, item, problems));
    }
    return merged;
}

void node_measure(const struct node *node, size_t *nodes, size_t *bytes)
{
    *nodes += 1;
    *bytes += strlen(node->text) + (node->key ? strlen(node->key) : 0);
    for (size_t i = 0; i < node->count; i++)
        node_measure(node->items[i], nodes, bytes);
}
