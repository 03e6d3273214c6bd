/* Nodes, their arena, merging, and problems by node. */
#include "lib/spec/yaml_node.h"

#include "lib/memory.h"
#include "lib/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    YAML_CHUNK_SIZE = 64 * 1024 - 64,
    YAML_KEY_SHOWN = 80, /* bytes of a key in a path; no key of the table is longer */
};

struct yaml_chunk {
    struct yaml_chunk *next;
    size_t used, size;
    max_align_t data[];
};

void yaml_arena_fini(struct yaml_arena *arena)
{
    while (arena->chunks) {
        struct yaml_chunk *next = arena->chunks->next;
        free(arena->chunks);
        arena->chunks = next;
    }
    arena->node_count = 0;
}

static void *yaml_allocate(struct yaml_arena *arena, size_t size)
{
    size = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    struct yaml_chunk *chunk = arena->chunks;
    if (!chunk || chunk->size - chunk->used < size) {
        size_t chunk_size = size > YAML_CHUNK_SIZE ? size : YAML_CHUNK_SIZE;
        chunk = xmalloc(sizeof *chunk + chunk_size);
        *chunk = (struct yaml_chunk){.next = arena->chunks, .size = chunk_size};
        arena->chunks = chunk;
    }
    void *memory = (char *)chunk->data + chunk->used;
    chunk->used += size;
    return memory;
}

struct yaml_node *yaml_new(struct yaml_arena *arena, enum yaml_kind kind)
{
    struct yaml_node *node = yaml_allocate(arena, sizeof *node);
    *node = (struct yaml_node){.kind = kind, .text = ""};
    arena->node_count++;
    return node;
}

const char *yaml_text(struct yaml_arena *arena, const char *bytes, size_t size)
{
    char *text = yaml_allocate(arena, size + 1);
    if (size)
        memcpy(text, bytes, size);
    text[size] = '\0';
    return text;
}

/* The arrays grow at powers of two, so that their capacity need not be kept. */
void yaml_append(struct yaml_arena *arena, struct yaml_node *node, struct yaml_node *item)
{
    if ((node->count & (node->count - 1)) == 0) {
        size_t capacity = node->count ? node->count * 2 : 1;
        struct yaml_node **items = yaml_allocate(arena, capacity * sizeof *items);
        if (node->count)
            memcpy(items, node->items, node->count * sizeof *items);
        node->items = items;
    }
    node->items[node->count++] = item;
}

struct yaml_node *yaml_get_any(const struct yaml_node *map, const char *key)
{
    if (!map || map->kind != YAML_MAP)
        return NULL;
    for (size_t i = 0; i < map->count; i++) {
        if (text_equal(map->items[i]->key, key))
            return map->items[i];
    }
    return NULL;
}

struct yaml_node *yaml_get(const struct yaml_node *map, const char *key)
{
    struct yaml_node *node = yaml_get_any(map, key);
    return node && node->kind != YAML_NULL ? node : NULL;
}

/* [-+]? (digits | digits . digits? | . digits) ([eE] [-+]? digits)? */
static bool yaml_is_number(const char *text, bool *ret_is_whole)
{
    text += *text == '-' || *text == '+';
    size_t whole = text_digits_size(text), fraction = 0;
    bool has_leading_zero = text[0] == '0' && whole > 1;
    text += whole;
    *ret_is_whole = *text == '\0';
    if (*text == '.') {
        fraction = text_digits_size(++text);
        text += fraction;
    }
    if (whole + fraction == 0 || has_leading_zero)
        return false;
    if (*text == 'e' || *text == 'E') {
        text++;
        text += *text == '-' || *text == '+';
        size_t exponent = text_digits_size(text);
        text += exponent;
        return exponent && *text == '\0';
    }
    return *text == '\0';
}

json_t *yaml_plain_value(const char *text)
{
    bool is_whole;
    if (text_equal(text, "true") || text_equal(text, "false"))
        return json_boolean(text_equal(text, "true"));
    if (!yaml_is_number(text, &is_whole))
        return json_string(text);
    errno = 0;
    if (is_whole) {
        long long number = strtoll(text, NULL, 10);
        return errno ? json_string(text) : json_integer(number);
    }
    double number = strtod(text, NULL);
    return isfinite(number) ? json_real(number) : json_string(text);
}

json_t *yaml_value(const struct yaml_node *node)
{
    return node->is_plain ? yaml_plain_value(node->text) : json_string(node->text);
}

/* `--set validate.depth=12` has the path "--set validate.depth". */
static const char *yaml_separator(const struct text *path)
{
    if (!path->size)
        return "";
    return text_ends(text_string(path), "--set") ? " " : ".";
}

static void yaml_add_path(const struct yaml_node *node, struct text *path)
{
    if (node->parent)
        yaml_add_path(node->parent, path);
    if (node->key)
        text_addf(path, "%s%.*s%s", yaml_separator(path), YAML_KEY_SHOWN, node->key,
                  strlen(node->key) > YAML_KEY_SHOWN ? "..." : "");
    else if (node->parent && node->parent->kind == YAML_LIST)
        text_addf(path, "[%zu]", node->index);
}

/* Where a problem points: at the value of a node, or at its key. */
enum yaml_part { YAML_VALUE, YAML_KEY };

__attribute__((format(printf, 6, 0))) static void yaml_report(struct spec_problems *problems,
                                                              enum spec_severity severity,
                                                              const struct yaml_node *node,
                                                              const char *key, enum yaml_part place,
                                                              const char *format, va_list args)
{
    struct text path = {0};
    yaml_add_path(node, &path);
    if (key)
        text_addf(&path, "%s%s", yaml_separator(&path), key);
    bool at_key = place == YAML_KEY && node->key_line;
    spec_problems_addv(problems, severity, at_key ? node->key_line : node->line,
                       at_key ? node->key_column : node->column, text_string(&path), format, args);
    text_fini(&path);
}

void yaml_problem(struct spec_problems *problems, const struct yaml_node *node, const char *format,
                  ...)
{
    va_list args;
    va_start(args, format);
    yaml_report(problems, SPEC_ERROR, node, NULL, node->kind == YAML_SCALAR ? YAML_VALUE : YAML_KEY,
                format, args);
    va_end(args);
}

/* The node as if it began at byte `offset` of its text, if the place of that byte is known. */
static struct yaml_node yaml_at(const struct yaml_node *node, size_t offset)
{
    struct yaml_node place = *node;
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

void yaml_problem_at(struct spec_problems *problems, const struct yaml_node *node, size_t offset,
                     const char *format, ...)
{
    const struct yaml_node place = yaml_at(node, offset);
    va_list args;
    va_start(args, format);
    yaml_report(problems, SPEC_ERROR, &place, NULL, YAML_VALUE, format, args);
    va_end(args);
}

void yaml_warning_at(struct spec_problems *problems, const struct yaml_node *node, size_t offset,
                     const char *format, ...)
{
    const struct yaml_node place = yaml_at(node, offset);
    va_list args;
    va_start(args, format);
    yaml_report(problems, SPEC_WARNING, &place, NULL, YAML_VALUE, format, args);
    va_end(args);
}

void yaml_warn_of_zeros(struct spec_problems *problems, const struct yaml_node *node)
{
    const char *text = node->kind == YAML_SCALAR && node->is_plain ? node->text : "";
    bool is_negative = text[0] == '-', is_whole;
    text += is_negative || text[0] == '+';
    const char *digits = text + strspn(text, "0");
    if (digits > text && text_digits_size(digits) && yaml_is_number(digits, &is_whole))
        yaml_warning_at(problems, node, 0,
                        "a text, since it begins with 0: write %s%.64s for a number, or quotes for "
                        "a text",
                        is_negative ? "-" : "", digits);
}

void yaml_key_problem(struct spec_problems *problems, const struct yaml_node *node,
                      const char *format, ...)
{
    va_list args;
    va_start(args, format);
    yaml_report(problems, SPEC_ERROR, node, NULL, YAML_KEY, format, args);
    va_end(args);
}

void yaml_key_warning(struct spec_problems *problems, const struct yaml_node *node,
                      const char *format, ...)
{
    va_list args;
    va_start(args, format);
    yaml_report(problems, SPEC_WARNING, node, NULL, YAML_KEY, format, args);
    va_end(args);
}

void yaml_missing(struct spec_problems *problems, const struct yaml_node *map, const char *key,
                  const char *format, ...)
{
    va_list args;
    va_start(args, format);
    yaml_report(problems, SPEC_ERROR, map, key, YAML_KEY, format, args);
    va_end(args);
}

const struct yaml_node *yaml_map(struct spec_problems *problems, const struct yaml_node *node,
                                 const char *what)
{
    if (node && node->kind == YAML_MAP)
        return node;
    if (node)
        yaml_problem(problems, node, "must be %s", what);
    return NULL;
}

struct yaml_node *yaml_copy_map(struct yaml_arena *arena, const struct yaml_node *node)
{
    struct yaml_node *copy = yaml_new(arena, YAML_MAP);
    *copy = *node;
    copy->items = NULL;
    copy->count = 0;
    for (size_t i = 0; i < node->count; i++)
        yaml_append(arena, copy, node->items[i]);
    return copy;
}

void yaml_replace(struct yaml_arena *arena, struct yaml_node *map, struct yaml_node *item)
{
    for (size_t i = 0; i < map->count; i++) {
        if (text_equal(map->items[i]->key, item->key)) {
            map->items[i] = item;
            return;
        }
    }
    yaml_append(arena, map, item);
}

void yaml_remove(struct yaml_node *map, const char *key)
{
    for (size_t i = 0; i < map->count; i++) {
        if (!text_equal(map->items[i]->key, key))
            continue;
        /* The lower count may be a power of two. Then yaml_append() makes a new array. That is
         * correct, and it wastes a little of the arena. */
        memmove(&map->items[i], &map->items[i + 1],
                (map->count - i - 1) * sizeof(struct yaml_node *));
        map->count--;
        return;
    }
}

static void yaml_refuse_nulls(const struct yaml_node *map, struct spec_problems *problems)
{
    for (size_t i = 0; i < map->count; i++) {
        const struct yaml_node *item = map->items[i];
        if (item->kind == YAML_NULL && !item->takes_away)
            yaml_problem(
                problems, item,
                "no value: null removes what extends or defaults give, and they give nothing");
        else if (item->kind == YAML_MAP)
            yaml_refuse_nulls(item, problems);
    }
}

struct yaml_node *yaml_merge(struct yaml_arena *arena, struct yaml_node *base,
                             struct yaml_node *overlay, struct spec_problems *problems)
{
    if (!overlay)
        return base;
    if (overlay->kind != YAML_MAP)
        return overlay;
    if (!base || base->kind != YAML_MAP) {
        yaml_refuse_nulls(overlay, problems);
        return overlay;
    }
    struct yaml_node *merged = yaml_copy_map(arena, base);
    merged->parent = overlay->parent;
    merged->key = overlay->key;
    merged->key_line = overlay->key_line;
    merged->key_column = overlay->key_column;
    merged->line = overlay->line;
    merged->column = overlay->column;
    merged->is_flow = overlay->is_flow;
    for (size_t i = 0; i < overlay->count; i++) {
        struct yaml_node *item = overlay->items[i];
        struct yaml_node *old = yaml_get(base, item->key);
        const struct yaml_node *any =
            yaml_get_any(base, item->key); /* a variant may have removed it */
        if (item->kind == YAML_NULL && !old && !item->takes_away && !(any && any->takes_away))
            yaml_problem(
                problems, item,
                "no value: null removes what extends or defaults give, and they give nothing");
        yaml_replace(arena, merged, yaml_merge(arena, old, item, problems));
    }
    return merged;
}

void yaml_measure(const struct yaml_node *node, size_t *nodes, size_t *bytes)
{
    *nodes += 1;
    *bytes += strlen(node->text) + (node->key ? strlen(node->key) : 0);
    for (size_t i = 0; i < node->count; i++)
        yaml_measure(node->items[i], nodes, bytes);
}
