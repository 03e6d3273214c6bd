/* Rows of metrics on their way into the journal and the guards. What comes for one step in several
 * lines becomes one entry, as long as no name comes twice. */
#ifndef PHASED_WORKER_ROWS_H
#define PHASED_WORKER_ROWS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct extract_row;
struct guards;
struct journal;

struct rows {
    struct journal *journal; /* borrowed */
    struct guards *guards;   /* borrowed */
    int64_t began_ms;        /* when the ranks started, on the steady clock */
    bool has_step;           /* any row came with a step */
    int64_t last_step;       /* the newest step seen */
    json_t *values;          /* of `step`, not yet in the journal; or NULL */
    int64_t step;
    unsigned unflushed; /* entries since the journal was last flushed */
};

void rows_add(struct rows *rows, const struct extract_row *row);
/* Puts what waits into the journal, and writes the journal. */
void rows_flush(struct rows *rows);
void rows_fini(struct rows *rows);

#endif
