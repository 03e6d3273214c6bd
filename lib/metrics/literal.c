/* One reader for JSON and for a dict of Python, because logs have both and mixtures: NaN in JSON,
 * single quotes, None, np.float64(2.3), tensor(2.3, device='cuda:0'). */
#include "lib/metrics/literal.h"

#include "lib/metrics/number.h"
#include "lib/metrics/values.h"

#include <ctype.h>
#include <string.h>

enum {
    LITERAL_DEPTH_MAX = 8, /* objects and lists inside each other */
    LITERAL_LIST_MAX = 16, /* longer lists are data, and not metrics */
};

struct literal {
    const char *at, *end;
    struct values *values;
    struct span path[LITERAL_DEPTH_MAX];
    size_t path_size;
    int silent; /* not 0: reads and adds nothing */
    int depth;
};

static bool literal_skip_spaces(struct literal *literal)
{
    while (literal->at < literal->end && isspace((unsigned char)*literal->at))
        literal->at++;
    return literal->at < literal->end;
}

/* Skips `c` if it comes next. Returns whether it did. */
static bool literal_take(struct literal *literal, char c)
{
    if (!literal_skip_spaces(literal) || *literal->at != c)
        return false;
    literal->at++;
    return true;
}

/* `silent` counts the reasons for adding nothing, because they nest. */
static void literal_add(struct literal *literal, int index, double value)
{
    if (literal->silent == 0)
        values_add(literal->values, literal->path, literal->path_size, index, value);
}

static bool literal_read_string(struct literal *literal, struct span *ret)
{
    char quote = *literal->at++;
    const char *begin = literal->at;
    for (; literal->at < literal->end && *literal->at != quote; literal->at++)
        if (*literal->at == '\\' && literal->at + 1 < literal->end)
            literal->at++;
    if (literal->at >= literal->end)
        return false;
    *ret = (struct span){.at = begin, .size = (size_t)(literal->at - begin)};
    literal->at++;
    return true;
}

static struct span literal_read_word(struct literal *literal)
{
    const char *begin = literal->at;
    while (literal->at < literal->end &&
           (isalnum((unsigned char)*literal->at) || *literal->at == '_' || *literal->at == '.'))
        literal->at++;
    return (struct span){.at = begin, .size = (size_t)(literal->at - begin)};
}

/* Whether a number may end here. */
static bool literal_is_delimited(const struct literal *literal)
{
    return literal->at == literal->end || strchr(",]}) \t", *literal->at);
}

/* Reads a word and what is in its parentheses: None, True, np.float64(2.3). */
static bool literal_read_named(struct literal *literal, int index)
{
    double value;
    if (!literal_read_word(literal).size)
        return false;
    if (literal->at == literal->end || *literal->at != '(')
        return true;
    literal->at++;
    size_t size = number_read(literal->at, literal->end, NUMBER_PLAIN, &value);
    literal->at += size;
    if (size && literal_is_delimited(literal))
        literal_add(literal, index, value);
    const char *close = memchr(literal->at, ')', (size_t)(literal->end - literal->at));
    literal->at = close ? close + 1 : literal->end;
    return close != NULL;
}

/* Reads a value that is neither a list nor an object. */
static bool literal_read_scalar(struct literal *literal, int index)
{
    struct span string;
    double value;
    size_t size = number_read(literal->at, literal->end, NUMBER_PLAIN, &value);
    if (size) {
        literal->at += size;
        if (!literal_is_delimited(literal))
            return false;
        literal_add(literal, index, value);
        return true;
    }
    if (*literal->at != '"' && *literal->at != '\'')
        return literal_read_named(literal, index);
    if (!literal_read_string(literal, &string))
        return false;
    /* Numbers are quoted if JSON has no number for them (NaN), and by trainers that round. */
    if (string.size &&
        number_read(string.at, string.at + string.size, NUMBER_PLAIN, &value) == string.size)
        literal_add(literal, index, value);
    return true;
}

static bool literal_read_value(struct literal *literal, int index);

/* Adds the numbers of a list, named by their places; adds nothing if the list is long. */
static bool literal_read_list(struct literal *literal, char close)
{
    struct values_so_far before = literal->values->so_far;
    int count = 0;
    literal->at++;
    while (!literal_take(literal, close)) {
        if (count && !literal_take(literal, ','))
            return false;
        if (literal_take(literal, close)) /* after a trailing comma, as in Python */
            break;
        if (count == LITERAL_LIST_MAX && literal->silent == 0)
            literal->values->so_far = before;
        literal->silent += count >= LITERAL_LIST_MAX;
        bool is_read = literal_read_value(literal, count);
        literal->silent -= count >= LITERAL_LIST_MAX;
        if (!is_read)
            return false;
        count++;
    }
    return true;
}

static bool literal_read_object(struct literal *literal)
{
    bool is_first = true;
    literal->at++;
    while (!literal_take(literal, '}')) {
        if (!is_first && !literal_take(literal, ','))
            return false;
        if (literal_take(literal, '}'))
            break;
        if (!literal_skip_spaces(literal))
            return false;
        struct span key;
        if (*literal->at != '"' && *literal->at != '\'')
            key = literal_read_word(literal);
        else if (!literal_read_string(literal, &key))
            return false;
        if (!literal_take(literal, ':'))
            return false;
        literal->path[literal->path_size++] = key;
        bool is_read = literal_read_value(literal, -1);
        literal->path_size--;
        if (!is_read)
            return false;
        is_first = false;
    }
    return true;
}

/* `index` is the place in a list, or -1. Lists in lists and objects in lists are records, and their
 * numbers are not added. */
static bool literal_read_value(struct literal *literal, int index)
{
    if (!literal_skip_spaces(literal))
        return false;
    char c = *literal->at;
    if (c != '{' && c != '[' && c != '(')
        return literal_read_scalar(literal, index);
    if (literal->depth == LITERAL_DEPTH_MAX)
        return false;
    literal->depth++;
    literal->silent += index >= 0;
    bool is_read =
        c == '{' ? literal_read_object(literal) : literal_read_list(literal, c == '[' ? ']' : ')');
    literal->silent -= index >= 0;
    literal->depth--;
    return is_read;
}

size_t literal_read(struct values *values, const char *at, const char *end)
{
    struct literal literal = {.at = at, .end = end, .values = values};
    struct values_so_far before = values->so_far;
    if (at == end || *at != '{' || !literal_read_value(&literal, -1)) {
        values->so_far = before;
        return 0;
    }
    return (size_t)(literal.at - at);
}
