/* One bracket after another is replaced by its numbers, until none is left. */
#include "daemon/store/nodes.h"

#include "lib/text.h"

#include <stdlib.h>
#include <string.h>

static void nodes_add(json_t *names, const char *pattern, size_t size);

/* Adds the names of head + number + tail for one range, "7" or "01-04". False when it is none. */
static bool nodes_add_range(json_t *names, const char *head, size_t head_size, const char *range,
                            const char *tail)
{
    char *end;
    unsigned long first = strtoul(range, &end, 10), last = first;
    int width = (int)(end - range); /* leading zeros stay */
    if (end == range)
        return false;
    if (*end == '-')
        last = strtoul(end + 1, &end, 10);
    if ((*end != ',' && *end != ']') || last < first)
        return false;
    for (unsigned long i = first; i <= last && json_array_size(names) < NODES_COUNT_MAX; i++) {
        char *name = text_format("%.*s%0*lu%s", (int)head_size, head, width, i, tail);
        nodes_add(names, name, strlen(name));
        free(name);
    }
    return true;
}

/* Adds what one item of the list stands for. */
static void nodes_add(json_t *names, const char *pattern, size_t size)
{
    const char *open = memchr(pattern, '[', size);
    const char *close = open ? memchr(open, ']', size - (size_t)(open - pattern)) : NULL;
    char *tail = close ? strndup(close + 1, size - (size_t)(close + 1 - pattern)) : NULL;
    bool is_good = close != NULL;
    for (const char *range = open; is_good && range != close;) {
        range++; /* behind the bracket or comma */
        is_good = nodes_add_range(names, pattern, (size_t)(open - pattern), range, tail);
        range += strcspn(range, ",]");
        if (*range == ']')
            range = close;
    }
    if (!is_good && json_array_size(names) < NODES_COUNT_MAX)
        json_array_append_new(names, json_stringn(pattern, size));
    free(tail);
}

json_t *nodes_expand(const char *list)
{
    json_t *names = json_array();
    while (*list) {
        size_t size = 0;
        for (bool is_inside = false; list[size] && (is_inside || list[size] != ','); size++)
            is_inside = list[size] == '[' || (is_inside && list[size] != ']');
        if (size > 0)
            nodes_add(names, list, size);
        list += size + (list[size] == ',');
    }
    return names;
}
