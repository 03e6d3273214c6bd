/* The rows that lib/metrics reads from a stream. */
#ifndef PHASED_TESTS_UNIT_EXTRACTING_H
#define PHASED_TESTS_UNIT_EXTRACTING_H

#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/metrics/extract.h"
#include "lib/text.h"

#include <stdlib.h>
#include <string.h>

static inline void collect(void *context, const struct extract_row *row)
{
    struct text *text = context;
    extract_row_write(row, text);
    text_add(text, "\n");
}

/* Returns all rows of a stream that comes in pieces of this size. */
static inline char *rows_of(const struct extract_options *options, const char *bytes, size_t size,
                            size_t piece)
{
    struct extract *extract;
    struct text text = {0};
    struct error err;
    if (extract_new(options, collect, &text, &extract, &err) < 0)
        fail_msg("%s", err.message);
    for (size_t at = 0; at < size; at += piece)
        extract_feed(extract, bytes + at, size - at < piece ? size - at : piece);
    extract_end(extract);
    extract_free(extract);
    return text_steal(&text);
}

static inline void assert_rows(const struct extract_options *options, const char *bytes,
                               const char *expected)
{
    char *rows = rows_of(options, bytes, strlen(bytes), 65536);
    if (!text_equal(rows, expected))
        fail_msg("%s\n  gives     %s\n  expected  %s", bytes, rows, expected);
    free(rows);
}

struct line_case {
    const char *line, *rows;
};

static inline void assert_lines(const struct line_case *cases, size_t count)
{
    struct extract_options options = {.kind = EXTRACT_AUTO};
    for (size_t i = 0; i < count; i++)
        assert_rows(&options, cases[i].line, cases[i].rows);
}

#endif
