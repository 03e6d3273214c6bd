/* Compares the ranges of two lists. */
#include "cli/doctor/nodelist.h"

#include "lib/memory.h"
#include "lib/text.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Nodes whose names begin alike and end with consecutive numbers: n1 to n4 of n[1-4,7]. */
struct nodelist_range {
    const char *prefix;
    size_t prefix_size;
    unsigned long first, last;
};

struct nodelist {
    struct nodelist_range *ranges;
    size_t count;
};

static void nodelist_add(struct nodelist *list, const struct nodelist_range *range)
{
    list->ranges = xreallocarray(list->ranges, list->count + 1, sizeof *list->ranges);
    list->ranges[list->count++] = *range;
}

/* Adds the node `name`, which has no brackets. A name without a number has the number 0. */
static void nodelist_add_one(struct nodelist *list, const char *name, size_t size)
{
    struct nodelist_range range = {.prefix = name, .prefix_size = size};
    while (range.prefix_size > 0 && isdigit((unsigned char)name[range.prefix_size - 1]))
        range.prefix_size--;
    if (range.prefix_size < size)
        range.first = range.last = strtoul(name + range.prefix_size, NULL, 10);
    nodelist_add(list, &range);
}

/* Adds the ranges of a bracket. Returns what follows the bracket, or NULL if the bracket has
 * something else. */
static const char *nodelist_add_bracket(struct nodelist *list, const char *prefix, size_t size)
{
    const char *at = prefix + size;
    do {
        char *end;
        struct nodelist_range range = {.prefix = prefix, .prefix_size = size};
        at++;
        if (!isdigit((unsigned char)*at))
            return NULL;
        range.first = range.last = strtoul(at, &end, 10);
        if (*end == '-')
            range.last = strtoul(end + 1, &end, 10);
        nodelist_add(list, &range);
        at = end;
    } while (*at == ',');
    return *at == ']' ? at + 1 : NULL;
}

/* Returns false if the names cannot be compared. */
static bool nodelist_read(const char *text, struct nodelist *list)
{
    const char *at = text;
    while (at && *at) {
        size_t size = strcspn(at, "[,");
        if (at[size] == '[') {
            at = nodelist_add_bracket(list, at, size);
        } else {
            nodelist_add_one(list, at, size);
            at += size;
        }
        if (at && *at && *at++ != ',')
            at = NULL;
    }
    return at != NULL;
}

static bool nodelist_ranges_overlap(const struct nodelist_range *left,
                                    const struct nodelist_range *right)
{
    return left->prefix_size == right->prefix_size && left->first <= right->last &&
           right->first <= left->last &&
           memcmp(left->prefix, right->prefix, left->prefix_size) == 0;
}

bool nodelist_may_share(const char *left, const char *right)
{
    struct nodelist lists[2] = {0};
    bool may_share = text_equal(left, right) || !nodelist_read(left, &lists[0]) ||
                     !nodelist_read(right, &lists[1]);
    for (size_t i = 0; i < lists[0].count && !may_share; i++)
        for (size_t k = 0; k < lists[1].count && !may_share; k++)
            may_share = nodelist_ranges_overlap(&lists[0].ranges[i], &lists[1].ranges[k]);
    free(lists[0].ranges);
    free(lists[1].ranges);
    return may_share;
}
