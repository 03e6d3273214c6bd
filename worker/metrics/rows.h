/* Rows of metrics on their way into the journal and the guards. What comes for one step in several
 * lines becomes one entry, as long as no name comes twice. */
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
    int64_t begin_step;      /* of the checkpoint that the run goes on from, or 0 */
    bool has_row;            /* any came */
    bool has_step;           /* with a step */
    int64_t last_step;       /* the newest step seen */
    json_t *values;          /* of `step`, not yet in the journal; or NULL */
    int64_t step;
    unsigned unflushed; /* entries since the journal was last flushed */
};

void rows_add(struct rows *rows, const struct extract_row *row);
/* Puts values into the journal at the newest step, or at `otherwise` when there was none yet. The
 * guards have them already. */
void rows_add_samples(struct rows *rows, int64_t otherwise, const struct extract_value *values,
                      size_t count);
/* Puts what waits into the journal, and writes the journal. */
void rows_flush(struct rows *rows);
void rows_fini(struct rows *rows);

#endif
