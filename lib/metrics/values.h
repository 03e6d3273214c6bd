/* The values of one line, with plain names, and which of them is the step. */
#ifndef PHASED_LIB_METRICS_VALUES_H
#define PHASED_LIB_METRICS_VALUES_H

#include "lib/metrics/extract.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of the line. */
struct span {
    const char *at;
    size_t size;
};

/* Whether the span is one of these words, in any case. */
bool span_is_any(struct span span, const char *const *words, size_t count);

/* Returns where the spaces end that begin at `at`. */
const char *span_skip_spaces(const char *at, const char *end);

enum {
    VALUES_NAMES_SIZE = 16384, /* bytes of all names of a line */
    VALUES_SEEN_SLOTS = 8192,  /* a power of two, well above the number of all kinds of names */
    VALUES_STEP_COUNTED = 1,   /* the rank of a step without a name */
};

/* A name that has come, known by its hash. It is examined once, because the same names come again
 * and again. */
struct values_name {
    uint64_t hash;  /* 0: a free slot */
    int step_rank;  /* 0: the name does not mean a step */
    uint32_t round; /* the last round in which it came, see values_round() */
    bool is_metric;
};

/* How far the line has been read. The line can be set back to a copy of this: what was added since
 * then is undone. */
struct values_so_far {
    size_t count;      /* of `items` */
    size_t names_size; /* of `names` */
    int step_rank;     /* 0: the line has no step so far; a higher rank wins */
    size_t step_index; /* the item that is the step; SIZE_MAX: a step without a name */
    int64_t step;
};

struct values {
    struct extract_value items[EXTRACT_VALUES_MAX];
    uint64_t hashes[EXTRACT_VALUES_MAX]; /* hashes of the names of `items` */
    char names[VALUES_NAMES_SIZE];
    struct values_so_far so_far;
    char step_name[EXTRACT_NAME_MAX + 1]; /* the name that the spec gives; may be empty */
    struct values_name seen[VALUES_SEEN_SLOTS];
    /* Names in `seen`, at most EXTRACT_NAMES_MAX of each kind. */
    size_t metric_names, known_names, other_names;
    char left_out[EXTRACT_NAME_MAX + 1]; /* the first metric without room; empty: all had room */
    uint32_t round;
};

/* `step_name` may be NULL. */
void values_init(struct values *values, const char *step_name);
/* Keeps room for a metric of this name. */
void values_want(struct values *values, const char *name);
/* Forgets the values of the line. Names that have come still count. */
void values_clear(struct values *values);

/* Adds a value. These words, joined by `_`, are its name, with `_index` at the end unless it is
 * negative. Leaves out names that no metric can have (pid, port, version), and values beyond the
 * bounds. */
void values_add(struct values *values, const struct span *words, size_t word_count, int index,
                double value);

/* Writes the plain name of a metric that a person or a pattern calls `word`: Loss is loss. Empty:
 * no metric can have the name. */
void values_name_of(const char *word, char ret_name[EXTRACT_NAME_MAX + 1]);

/* Whether the number can be a step. The daemon takes no metrics of other steps. */
bool values_is_step(double number);

/* Sets the step that a progress bar counts. A step that the line names wins. */
void values_count_step(struct values *values, double step);

/* Whether these words name a step. */
bool values_is_step_name(const struct values *values, const struct span *words, size_t word_count);

/* Whether programs give this name to metrics only: loss, lr, val_acc. */
bool values_is_known_metric(struct span word);
/* Whether the line has such a metric. */
bool values_has_known_metric(const struct values *values);

/* For streams without steps: returns the round of this line, from 1. A round ends when a name comes
 * again. */
uint32_t values_round(struct values *values);

/* Removes the step from the values when the line has been read, and any other value that is called
 * `step`. */
void values_settle(struct values *values);

/* Returns the value with exactly this name, or NULL. */
const double *values_find(const struct values *values, const char *name);

#endif
