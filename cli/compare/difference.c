/* Objects by their members; texts by their longest common subsequence of lines. */
#include "cli/compare/difference.h"

#include "lib/memory.h"
#include "lib/text.h"

#include <stdlib.h>
#include <string.h>

/* The table of the subsequence has at most this many cells. Longer texts are compared as a
 * whole. */
enum { DIFFERENCE_CELLS_MAX = 16 << 20, DIFFERENCE_JSON_MAX = 60 /* longer JSON is not shown */ };

/* --- Documents -------------------------------------------------------------------------------- */

static bool difference_is_equal(const json_t *left, const json_t *right)
{
    if (json_is_number(left) && json_is_number(right))
        return json_number_value(left) == json_number_value(right);
    return json_equal(left, right);
}

static void difference_find_member(const char *path, const char *name, const json_t *left,
                                   const json_t *right, json_t *list)
{
    char *longer = path[0] ? text_format("%s.%s", path, name) : xstrdup(name);
    if (json_is_object(left) && json_is_object(right)) {
        difference_find(longer, left, right, list);
    } else if (!difference_is_equal(left, right)) {
        json_t *row = json_pack("{s:s, s:O*, s:O*}", "path", longer, "left", left, "right", right);
        (void)json_array_append_new(list, row); /* fails only without memory */
    }
    free(longer);
}

void difference_find(const char *path, const json_t *left, const json_t *right, json_t *list)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)left, name, value)
        difference_find_member(path, name, value, json_object_get(right, name), list);
    json_object_foreach((json_t *)right, name, value)
    {
        if (!json_object_get(left, name))
            difference_find_member(path, name, NULL, value, list);
    }
}

/* --- Texts ------------------------------------------------------------------------------------ */

struct difference_side {
    const char **lines; /* each ends with \n or at the end of the text */
    size_t count;
};

static size_t difference_length(const char *line)
{
    return strcspn(line, "\n");
}

static bool difference_same_line(const char *a, const char *b)
{
    size_t size = difference_length(a);
    return size == difference_length(b) && memcmp(a, b, size) == 0;
}

static struct difference_side difference_split(const char *text)
{
    struct difference_side side = {0};
    size_t capacity = 1;
    for (const char *c = text; *c; c++)
        capacity += *c == '\n';
    side.lines = xcalloc(capacity, sizeof *side.lines);
    while (*text) {
        side.lines[side.count++] = text;
        text += difference_length(text);
        text += *text == '\n';
    }
    return side;
}

static void difference_add(const char *sign, const char *line, unsigned indent, struct text *text)
{
    text_addf(text, "%*s%s ", (int)indent, "", sign);
    text_add_bytes(text, line, difference_length(line));
    text_add(text, "\n");
}

/* Cell (i, j) of the table is the length of the longest common subsequence of two texts: the lines
 * of `a` from i on, and the lines of `b` from j on. */
static unsigned *difference_table(const struct difference_side *a, const struct difference_side *b)
{
    size_t width = b->count + 1;
    unsigned *cells = xcalloc((a->count + 1) * width, sizeof *cells);
    for (size_t i = a->count; i-- > 0;) {
        for (size_t j = b->count; j-- > 0;) {
            unsigned below = cells[(i + 1) * width + j], right = cells[i * width + j + 1];
            cells[i * width + j] = difference_same_line(a->lines[i], b->lines[j])
                                       ? cells[(i + 1) * width + j + 1] + 1
                                   : below > right ? below
                                                   : right;
        }
    }
    return cells;
}

/* Leaves out the lines that both sides have at the beginning and at the end. */
static void difference_trim(struct difference_side *a, struct difference_side *b)
{
    while (a->count && b->count && difference_same_line(a->lines[0], b->lines[0])) {
        a->lines++;
        b->lines++;
        a->count--;
        b->count--;
    }
    while (a->count && b->count &&
           difference_same_line(a->lines[a->count - 1], b->lines[b->count - 1])) {
        a->count--;
        b->count--;
    }
}

void difference_lines(const char *left, const char *right, unsigned indent, struct text *text)
{
    struct difference_side all_a = difference_split(left), a = all_a;
    struct difference_side all_b = difference_split(right), b = all_b;
    difference_trim(&a, &b);
    bool is_small = (a.count + 1) * (b.count + 1) <= DIFFERENCE_CELLS_MAX;
    size_t i = 0, j = 0, width = b.count + 1;
    unsigned *cells = is_small ? difference_table(&a, &b) : NULL;
    while (cells && i < a.count && j < b.count) {
        if (difference_same_line(a.lines[i], b.lines[j])) {
            i++;
            j++;
        } else if (cells[(i + 1) * width + j] >= cells[i * width + j + 1]) {
            difference_add("-", a.lines[i++], indent, text);
        } else {
            difference_add("+", b.lines[j++], indent, text);
        }
    }
    while (i < a.count)
        difference_add("-", a.lines[i++], indent, text);
    while (j < b.count)
        difference_add("+", b.lines[j++], indent, text);
    free(cells);
    free(all_a.lines);
    free(all_b.lines);
}

/* --- Values ----------------------------------------------------------------------------------- */

bool difference_is_long(const json_t *value)
{
    const char *string = json_string_value(value);
    const char *end = string ? strchr(string, '\n') : NULL;
    return end && end[1];
}

/* Returns NULL if the JSON is too long to be shown. Otherwise the caller frees it. */
static char *difference_json(const json_t *value)
{
    char *json = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
    if (json && strlen(json) <= DIFFERENCE_JSON_MAX)
        return json;
    free(json);
    return NULL;
}

bool difference_is_long_object(const json_t *value)
{
    char *json = json_is_object(value) ? difference_json(value) : NULL;
    bool is_long = json_is_object(value) && !json;
    free(json);
    return is_long;
}

void difference_value(const json_t *value, struct text *text)
{
    if (!value || json_is_null(value)) {
        text_add(text, "-");
    } else if (difference_is_long(value)) {
        unsigned lines = 0;
        for (const char *at = json_string_value(value); *at; at += *at == '\n') {
            at += difference_length(at);
            lines++;
        }
        text_addf(text, "%u lines", lines);
    } else if (json_is_string(value)) {
        const char *string = json_string_value(value);
        text_add_bytes(text, string, difference_length(string));
    } else {
        char *json = difference_json(value);
        text_add(text, json ? json : json_is_array(value) ? "[...]" : "{...}");
        free(json);
    }
}
