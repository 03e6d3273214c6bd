/* Patterns: compiled once, and matched with bounded effort, because a pattern may backtrack without
 * end on a line that its author never saw. */
#include "lib/metrics/pattern.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "lib/metrics/number.h"
#include "lib/metrics/values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum {
    PATTERN_SIZE_MAX = 8192,
    PATTERN_MATCHES_MAX = 32,      /* matches in one line */
    PATTERN_STEPS_MAX = 100000,    /* steps of the matcher; some milliseconds */
    PATTERN_MEMORY_MAX_KIB = 4096, /* memory of the matcher */
};

struct pattern {
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *limits;
    const unsigned char *names; /* rows of group number (two bytes), name, NUL */
    uint32_t name_count, name_row_size;
};

/* The name in row `index` of the table: it follows the number of its group. */
static const char *pattern_name(const struct pattern *pattern, uint32_t index)
{
    return (const char *)pattern->names + (size_t)index * pattern->name_row_size + 2;
}

/* Fills the code and the table of names, which has at least one name. */
static int pattern_compile(const char *text, struct pattern *pattern, struct error *err)
{
    int code;
    PCRE2_SIZE at;
    if (strlen(text) > PATTERN_SIZE_MAX)
        return error_set_at(err, -EINVAL, "", 1, 1, "the pattern is longer than %d bytes",
                            PATTERN_SIZE_MAX);
    pattern->code =
        pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
                      PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C, &code, &at, NULL);
    if (!pattern->code) {
        PCRE2_UCHAR message[160];
        (void)pcre2_get_error_message(code, message, sizeof message); /* a cut message is fine */
        return error_set_at(err, -EINVAL, "", 1, (unsigned)at + 1, "the pattern is wrong: %s",
                            (const char *)message);
    }
    (void)pcre2_pattern_info(pattern->code, PCRE2_INFO_NAMECOUNT, &pattern->name_count);
    (void)pcre2_pattern_info(pattern->code, PCRE2_INFO_NAMEENTRYSIZE, &pattern->name_row_size);
    (void)pcre2_pattern_info(pattern->code, PCRE2_INFO_NAMETABLE, &pattern->names);
    if (!pattern->name_count)
        return error_set_at(err, -EINVAL, "", 1, 1,
                            "the pattern has no named group, such as (?<loss>[0-9.]+)");
    return 0;
}

json_t *pattern_names(const char *text, struct error *err)
{
    struct pattern pattern = {0};
    json_t *names = pattern_compile(text, &pattern, err) < 0 ? NULL : json_object();
    for (uint32_t i = 0; names && i < pattern.name_count; i++) {
        char plain[EXTRACT_NAME_MAX + 1];
        values_name_of(pattern_name(&pattern, i), plain);
        if (plain[0])
            json_object_set_new(names, plain, json_true());
    }
    pcre2_code_free(pattern.code);
    return names;
}

int pattern_new(const char *text, struct pattern **ret_pattern, struct error *err)
{
    struct pattern *pattern = xcalloc(1, sizeof *pattern);
    int status = pattern_compile(text, pattern, err);
    if (status < 0) {
        pattern_free(pattern);
        return status;
    }
    /* Without JIT the matcher counts its steps. The JIT counts differently, but its steps are
     * bounded too. */
    (void)pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE); /* only makes matching faster */
    pattern->match = pcre2_match_data_create_from_pattern(pattern->code, NULL);
    pattern->limits = pcre2_match_context_create(NULL);
    if (!pattern->match || !pattern->limits)
        abort();
    (void)pcre2_set_match_limit(pattern->limits, PATTERN_STEPS_MAX);
    (void)pcre2_set_heap_limit(pattern->limits, PATTERN_MEMORY_MAX_KIB);
    *ret_pattern = pattern;
    return 0;
}

void pattern_free(struct pattern *pattern)
{
    if (!pattern)
        return;
    pcre2_match_context_free(pattern->limits);
    pcre2_match_data_free(pattern->match);
    pcre2_code_free(pattern->code);
    free(pattern);
}

/* A group is a value if it took part in the match and is a number. */
static void pattern_add_groups(struct pattern *pattern, struct values *values, const char *line,
                               uint32_t group_count)
{
    const PCRE2_SIZE *bounds = pcre2_get_ovector_pointer(pattern->match);
    for (uint32_t i = 0; i < pattern->name_count; i++) {
        const unsigned char *row = pattern->names + (size_t)i * pattern->name_row_size;
        uint32_t group = (uint32_t)row[0] << 8 | row[1];
        const char *name = pattern_name(pattern, i);
        if (group >= group_count || bounds[2 * group] == PCRE2_UNSET ||
            bounds[2 * group] > bounds[2 * group + 1])
            continue;
        struct span word = {.at = name, .size = strlen(name)};
        double value;
        if (number_read_measure(line + bounds[2 * group], line + bounds[2 * group + 1], &value,
                                NULL))
            values_add(values, &word, 1, -1, value);
    }
}

static bool pattern_is_ascii(const char *line, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)line[i] >= 0x80)
            return false;
    return true;
}

/* Up to PCRE2 10.42, the JIT does not match \S, \D and \W with characters above ASCII if invalid
 * UTF-8 is allowed. Then the tables of rich, whose borders are such characters, could not be
 * read. */
void pattern_read(struct pattern *pattern, struct values *values, const char *line, size_t size)
{
    uint32_t options = pattern_is_ascii(line, size) ? 0 : PCRE2_NO_JIT;
    PCRE2_SIZE at = 0;
    for (int i = 0; i < PATTERN_MATCHES_MAX && at <= size; i++) {
        int groups = pcre2_match(pattern->code, (PCRE2_SPTR)line, size, at, options, pattern->match,
                                 pattern->limits);
        if (groups == PCRE2_ERROR_JIT_STACKLIMIT) /* the interpreter has more memory */
            groups = pcre2_match(pattern->code, (PCRE2_SPTR)line, size, at, options | PCRE2_NO_JIT,
                                 pattern->match, pattern->limits);
        if (groups <= 0) /* no match, or too much effort */
            return;
        pattern_add_groups(pattern, values, line, (uint32_t)groups);
        PCRE2_SIZE end = pcre2_get_ovector_pointer(pattern->match)[1];
        at = end > at ? end : at + 1; /* do not find an empty match again */
    }
}
