/* One curve of a phase with all its runs: a step that was made twice counts as the later run made
 * it. */
#ifndef PHASED_CLI_METRICS_STITCH_H
#define PHASED_CLI_METRICS_STITCH_H

#include <stdint.h>

#include <jansson.h>

struct address;
struct cli;
struct error;
struct option_list;

struct stitch {
    json_t *columns;    /* metrics as the API answers them; the caller's to json_decref() */
    uint32_t attempt;   /* the newest run; 0: there is no run */
    int64_t taken_back; /* the steps after this step are of the newest run; -1: all are */
};

/* Reads the metrics with these names (none: all) of the runs of a phase, or of the one run that
 * `history` has. `history`: reader_get_history() of the address. `last`: how many of the newest
 * steps; 0: all. Touches `ret` only if it returns 0. */
int stitch_read(struct cli *cli, const struct address *address, const json_t *history,
                const struct option_list *names, unsigned last, struct stitch *ret,
                struct error *err);

#endif
