/* Puts rows of metrics into the journal, and gives them to the guards. Several lines of one step
 * become one entry, as long as no name comes twice. */
#ifndef PHASED_WORKER_METRICS_ROWS_H
#define PHASED_WORKER_METRICS_ROWS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct extract_row;
struct extract_value;
struct guards;
struct journal;

struct rows {
    struct journal *journal; /* borrowed */
    struct guards *guards;   /* borrowed */
    int64_t began_ms;        /* when the ranks started, on the steady clock */
    int64_t begin_step;      /* of the checkpoint that the run resumed from, or 0 */
    bool has_row;            /* a row has come */
    bool has_step;           /* a row with a step has come */
    int64_t last_step;       /* the newest step */
    int64_t highest_step;    /* of all rows with a step */
    json_t *values;          /* values of `step` that are not in the journal yet; or NULL */
    int64_t step;
    bool is_stepless;   /* the values came before the first row with a step */
    unsigned unflushed; /* entries since the last flush of the journal */
};

void rows_add(struct rows *rows, const struct extract_row *row);
/* The newest step; before the first row, the step where the run begins. */
int64_t rows_step(const struct rows *rows);
/* Puts values into the journal at rows_step(). The guards have these values already. */
void rows_add_samples(struct rows *rows, const struct extract_value *values, size_t count);
/* Puts waiting values into the journal, and writes the journal. */
void rows_flush(struct rows *rows);
void rows_fini(struct rows *rows);

#endif
