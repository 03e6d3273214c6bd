/* One curve of a phase with all its runs. If two runs made the same step, the curve has the values
 * of the later run. */
#ifndef PHASED_CLI_METRICS_STITCH_H
#define PHASED_CLI_METRICS_STITCH_H

#include <stdint.h>

#include <jansson.h>

struct address;
struct cli;
struct error;
struct option_list;

struct stitch {
    json_t *columns;    /* metrics as the API answers them; a new reference */
    uint32_t attempt;   /* the newest run; 0: there is no run */
    int64_t taken_back; /* the newest run made the steps after this step; -1: it made all steps */
};

/* Reads the metrics with these names (no name: all metrics) of the runs of a phase. If `history`
 * has only one run, reads this run. `history`: reader_get_history() of the address. `last`: how
 * many of the newest steps; 0: all. Touches `ret` only if it returns 0. */
int stitch_read(struct cli *cli, const struct address *address, const json_t *history,
                const struct option_list *names, unsigned last, struct stitch *ret,
                struct error *err);

#endif
