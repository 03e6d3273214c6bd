/* The values of one line, with their names made plain, and which of them is the step. Internal to
 * lib/metrics. */
#ifndef PHASED_LIB_METRICS_VALUES_H
#define PHASED_LIB_METRICS_VALUES_H

#include "lib/metrics/extract.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A stretch of the line. */
struct span {
    const char *at;
    size_t size;
};

enum {
    VALUES_NAMES_SIZE = 16384,  /* bytes of all names of a line */
    VALUES_SEEN_SLOTS = 4096,   /* a power of two, well above EXTRACT_NAMES_MAX */
    VALUES_NAME_WORDS_MAX = 12, /* words that make up one name */
    VALUES_STEP_COUNTED = 1,    /* the rank of a step that no name tells */
};

/* A name that has come, known by its hash: looked at once, since the same ones come all the time.
 */
struct values_name {
    uint64_t hash;  /* 0: a free slot */
    int step_rank;  /* 0: means no step */
    uint32_t round; /* the last one in which it came, see values_round() */
    bool is_metric;
};

struct values {
    struct extract_value items[EXTRACT_VALUES_MAX];
    uint64_t hashes[EXTRACT_VALUES_MAX]; /* of the items' names */
    size_t count;
    char names[VALUES_NAMES_SIZE];
    size_t names_size;
    int step_rank;     /* 0: this line has told no step; the higher, the more it counts */
    size_t step_index; /* of the item that is the step, or SIZE_MAX: told without a name */
    int64_t step;
    char step_name[EXTRACT_NAME_MAX + 1]; /* what was asked for; may be empty */
    struct values_name seen[VALUES_SEEN_SLOTS];
    size_t metric_names, other_names; /* in `seen`, each at most EXTRACT_NAMES_MAX */
    uint32_t round;
};

/* `step_name` may be NULL. */
void values_init(struct values *values, const char *step_name);
/* Forgets the line's values; names that have come still count. */
void values_clear(struct values *values);

/* Adds a value named by these words, joined by `_`, with `_index` at the end unless it is negative.
 * Left out: what cannot be a metric by its name (pid, port, version), and what is beyond bounds. */
void values_add(struct values *values, const struct span *words, size_t word_count, int index,
                double value);

/* The step, counted by a progress bar: a step that the line names counts more. */
void values_count_step(struct values *values, double step);

/* Whether these words name a step. */
bool values_is_step_name(const struct values *values, const struct span *words, size_t word_count);

/* For streams that tell no steps: the round that this line belongs to, from 1. A round ends when a
 * name comes again. */
uint32_t values_round(struct values *values);

/* Takes the step out from among the values, once the line has been read; nothing that is named
 * `step` stays. */
void values_settle(struct values *values);

/* The value named exactly so, or NULL. */
const double *values_find(const struct values *values, const char *name);

/* Undoing what was added since a mark. */
struct values_mark {
    size_t count, names_size, step_index;
    int step_rank;
    int64_t step;
};
struct values_mark values_mark(const struct values *values);
void values_undo(struct values *values, struct values_mark mark);

#endif
