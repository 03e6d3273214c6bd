/* Reads metrics from the output of a training program.
 *
 * The caller feeds bytes as they come, and gets rows: a step and the named values of one line.
 * There are three kinds:
 *
 *   EXTRACT_AUTO     understands what trainers print (doc/metrics.md has the list), and JSON lines
 *   EXTRACT_PATTERN  a PCRE2 pattern; each named group that matches a number is a value
 *   EXTRACT_FILE     JSON lines of a metrics file
 *
 * Names have lower case letters, digits and `_`, and begin with a letter. A line without a step has
 * the step of the line before. Steps are from 0 to EXTRACT_STEP_MAX. If a progress bar shows
 * several states for one step (with carriage returns), the last state counts, and each state with a
 * NaN or an infinity that a finite value would replace. Memory is bounded:
 * the end of a line longer than EXTRACT_LINE_MAX is left out, and so are names after the first
 * EXTRACT_NAMES_MAX. Steps, epochs, wanted names and the names that every trainer uses are counted
 * apart. If a program prints no steps, whole epochs count as steps. There is no I/O. The callback
 * runs within the call that gets the bytes. */
#ifndef PHASED_LIB_METRICS_EXTRACT_H
#define PHASED_LIB_METRICS_EXTRACT_H

#include "lib/json.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct extract;
struct text;

enum {
    EXTRACT_LINE_MAX = 16384, /* bytes; lines of trainers have some hundreds */
    EXTRACT_NAMES_MAX = 1000, /* different names of one kind in one stream */
    EXTRACT_NAME_MAX = 128,   /* bytes of a name */
    EXTRACT_VALUES_MAX = 256, /* values of one line */
};

#define EXTRACT_STEP_MAX JSON_WHOLE_MAX

/* What a person can do if nothing is recognised in a log. */
#define EXTRACT_ADVICE                                                                             \
    "print pairs such as step=10 loss=2.5, or give `metrics: {pattern: ...}` (phased-spec(5))"

enum extract_kind { EXTRACT_AUTO, EXTRACT_PATTERN, EXTRACT_FILE };

struct extract_value {
    const char *name;
    double value; /* may be NaN or infinite */
};

/* Borrowed during the callback. */
struct extract_row {
    bool has_step; /* false until the stream has a step */
    int64_t step;  /* without a step, the round: 1, and one more when a name comes again */
    const struct extract_value *values; /* at least one value; the step is not among them */
    size_t count;
};

typedef void extract_row_found(void *context, const struct extract_row *row);

struct extract_options {
    enum extract_kind kind;
    const char *pattern;   /* only with EXTRACT_PATTERN */
    const char *step_name; /* the name of the step; NULL: the usual names (step, iteration) */
};

/* Returns -EINVAL, with the column, if a pattern cannot be compiled or has no named group. */
int extract_new(const struct extract_options *options, extract_row_found *found, void *context,
                struct extract **ret_extract, struct error *err);
void extract_free(struct extract *extract);

void extract_feed(struct extract *extract, const void *bytes, size_t size);
/* Tells the state of a progress bar that has waited for a second, although a newer state of the
 * same step may come. The newer state is then a row of its own, unless it has the same values. Call
 * it a few times a second while a program runs. */
void extract_flush(struct extract *extract, int64_t now_ms);
/* Ends the output: the bytes since the last line end are a line of their own. */
void extract_end(struct extract *extract);

/* Keeps room for a metric of this name, however many names come before it. */
void extract_want(struct extract *extract, const char *name);

/* Returns a message for people if names were left out; the caller frees it. NULL: there was room
 * for all names. */
char *extract_left_out(const struct extract *extract);

/* If there was no row: returns the beginning of the line that looks most like metrics, in printable
 * ASCII. Empty: there was no line. Borrowed until the next call. */
const char *extract_unread(const struct extract *extract);

/* Whether a metric can have this name. Such a name needs no escapes in the query of a URL. A name
 * that a program gives itself (phase-worker metric) may begin with `_`. */
bool extract_is_name(const char *name);

/* Adds the row as a JSON object: {"step": 200, "loss": 5.147944}. JSON has no NaN and no infinity,
 * so these are the texts "nan", "inf" and "-inf". */
void extract_row_write(const struct extract_row *row, struct text *text);

/* Fills the options from "metrics" of a phase of the resolved workflow ({"kind": "auto"}, {"kind":
 * "pattern", "pattern": ...}, {"kind": "file", ...}). The strings are borrowed from `json`. */
int extract_options_from_json(const json_t *json, struct extract_options *ret_options,
                              struct error *err);

#endif
