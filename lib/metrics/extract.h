/* Reads metrics out of what a training program prints.
 *
 * Bytes go in as they come, rows come out: a step and the named values that one line told. Three
 * kinds:
 *
 *   EXTRACT_AUTO     understands what trainers print (doc/metrics.md has the list), and JSON lines
 *   EXTRACT_PATTERN  a PCRE2 pattern; each named group that matched a number is a value
 *   EXTRACT_FILE     JSON lines of a metrics file
 *
 * Names are lower case letters, digits and `_`, beginning with a letter. A line without a step has
 * the last step seen. Of a progress bar (carriage returns) the last state of each step counts.
 * Memory is bounded whatever comes in: of a line longer than EXTRACT_LINE_MAX the rest is left
 * out, and names beyond the first EXTRACT_NAMES_MAX are. Where no step is told whole epochs stand
 * for it. No I/O; the callback runs inside the call that was fed. */
#ifndef PHASED_LIB_METRICS_EXTRACT_H
#define PHASED_LIB_METRICS_EXTRACT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct extract;
struct text;

enum {
    EXTRACT_LINE_MAX = 16384, /* bytes; trainers' lines have some hundreds */
    EXTRACT_NAMES_MAX = 1000, /* different names of one stream */
    EXTRACT_NAME_MAX = 128,   /* bytes of a name */
    EXTRACT_VALUES_MAX = 256, /* values of one line */
};

/* 2^53 - 1: whole numbers are exact up to it in JSON too, and their differences never overflow. */
#define EXTRACT_STEP_MAX 9007199254740991

/* What a person does about a log in which nothing is recognised. */
#define EXTRACT_ADVICE                                                                             \
    "print pairs such as step=10 loss=2.5, or give `metrics: {pattern: ...}` (phased-spec(5))"

enum extract_kind { EXTRACT_AUTO, EXTRACT_PATTERN, EXTRACT_FILE };

struct extract_value {
    const char *name;
    double value; /* may be NaN or infinite */
};

/* Borrowed during the callback. */
struct extract_row {
    bool has_step; /* false until the stream told one */
    int64_t step;  /* until then the round: 1, and one more whenever a name comes again */
    const struct extract_value *values; /* never empty; the step is not among them */
    size_t count;
};

typedef void extract_row_found(void *context, const struct extract_row *row);

struct extract_options {
    enum extract_kind kind;
    const char *pattern;   /* EXTRACT_PATTERN only */
    const char *step_name; /* the value that is the step; NULL: the usual names (step, iteration) */
};

/* -EINVAL for a pattern that cannot be compiled or has no named group, with its column. */
int extract_new(const struct extract_options *options, extract_row_found *found, void *context,
                struct extract **ret_extract, struct error *err);
void extract_free(struct extract *extract);

void extract_feed(struct extract *extract, const void *bytes, size_t size);
/* Reads what was fed since the last line end as a line of its own: at the end of the output. */
void extract_end(struct extract *extract);

/* While no row was told: the beginning of the line that looks most as if it told one, in printable
 * ASCII; empty where no line came. Borrowed until the next call. */
const char *extract_unread(const struct extract *extract);

/* Adds the row as a JSON object: {"step": 200, "loss": 5.147944}; NaN and infinities as text,
 * "nan", "inf" and "-inf", since JSON has no numbers for them. */
void extract_row_write(const struct extract_row *row, struct text *text);

/* Fills options from a phase's "metrics" in the resolved workflow ({"kind": "auto"}, {"kind":
 * "pattern", "pattern": ...}, {"kind": "file", ...}); the strings are borrowed from it. */
int extract_options_from_json(const json_t *json, struct extract_options *ret_options,
                              struct error *err);

#endif
