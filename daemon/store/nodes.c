/* One bracket after another is replaced by its numbers, until no bracket is left. Lists come from
 * Slurm and from workers, and may be anything. Each name that is made is added, so NODES_COUNT_MAX
 * bounds the work. */
#include "daemon/store/nodes.h"

#include "lib/memory.h"
#include "lib/text.h"

#include <stdlib.h>
#include <string.h>

enum {
    NODES_BRACKETS_MAX = 8, /* in one item; Slurm's own lists have at most four */
    NODES_DIGITS_MAX = 18,  /* in a number, so that it fits */
    NODES_AFFIX_MAX = 1024, /* bytes before or behind a bracket */
};

static void nodes_add(json_t *names, const char *pattern, size_t size, unsigned depth);

/* Reads the number at `*at`, and moves `*at` behind it. False: there is no number, or it is too
 * long.
 */
static bool nodes_number(const char **at, unsigned long *ret_number)
{
    size_t digits = text_digits_size(*at);
    if (digits == 0 || digits > NODES_DIGITS_MAX)
        return false;
    *ret_number = strtoul(*at, NULL, 10);
    *at += digits;
    return true;
}

/* Adds the names head + number + tail of a range, "7" or "01-04". False: it is not a range. */
static bool nodes_add_range(json_t *names, const char *head, size_t head_size, const char *range,
                            const char *tail, unsigned depth)
{
    unsigned long first, last;
    const char *end = range;
    if (!nodes_number(&end, &first))
        return false;
    int width = (int)(end - range); /* leading zeros are kept */
    last = first;
    if (*end == '-' && (end++, !nodes_number(&end, &last)))
        return false;
    if ((*end != ',' && *end != ']') || last < first)
        return false;
    for (unsigned long i = first; i <= last && json_array_size(names) < NODES_COUNT_MAX; i++) {
        char *name = text_format("%.*s%0*lu%s", (int)head_size, head, width, i, tail);
        nodes_add(names, name, strlen(name), depth + 1);
        free(name);
    }
    return true;
}

/* Adds the names that one item of the list stands for. */
static void nodes_add(json_t *names, const char *pattern, size_t size, unsigned depth)
{
    const char *open = memchr(pattern, '[', size), *end = pattern + size;
    const char *close = open ? memchr(open, ']', (size_t)(end - open)) : NULL;
    bool is_good = close && depth < NODES_BRACKETS_MAX && open - pattern <= NODES_AFFIX_MAX &&
                   end - close <= NODES_AFFIX_MAX;
    char *tail = is_good ? xstrndup(close + 1, (size_t)(end - close - 1)) : NULL;
    for (const char *range = open; is_good && range != close;) {
        range++; /* behind the bracket or comma */
        is_good = nodes_add_range(names, pattern, (size_t)(open - pattern), range, tail, depth);
        range += strcspn(range, ",]");
    }
    if (!is_good && json_array_size(names) < NODES_COUNT_MAX)
        json_array_append_new(names, json_stringn(pattern, size));
    free(tail);
}

json_t *nodes_expand(const char *list)
{
    json_t *names = json_array();
    char *plain = xstrdup(list);
    text_make_utf8(plain); /* the list may be cut inside a letter */
    list = plain;
    while (*list) {
        size_t size = 0;
        for (bool is_inside = false; list[size] && (is_inside || list[size] != ','); size++)
            is_inside = list[size] == '[' || (is_inside && list[size] != ']');
        if (size > 0)
            nodes_add(names, list, size, 0);
        list += size + (list[size] == ',');
    }
    free(plain);
    return names;
}
