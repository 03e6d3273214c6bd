/* What the live view asks for next: decisions first, then what the panes show, each answer again
 * after its time. The view asks less often for an answer that takes the daemon long, but not later
 * than 30 seconds after the answer. */
#ifndef PHASED_CLI_TOP_WANTS_H
#define PHASED_CLI_TOP_WANTS_H

#include "cli/top/model.h"
#include "cli/top/paths.h"

#include <stdbool.h>
#include <stddef.h>

struct request;

/* A curve for each phase that is in view, and what the other panes need. */
enum { WANTS_MAX = MODEL_SEEN_MAX + 8 };

/* An answer that the panes need, not older than `period_s`. */
struct want {
    char path[PATHS_SIZE];
    double period_s;
};

/* Fills in what the panes need, the most important first. Returns how many there are. */
size_t wants_list(const struct model *model, struct want wants[WANTS_MAX]);

/* Says what to ask for now. If there is nothing, returns false, and sets `ret_wait_s` to the
 * seconds until there is something. `clock_s` is steady time. */
bool wants_next(const struct model *model, double clock_s, struct request *ret_request,
                double *ret_wait_s);

#endif
