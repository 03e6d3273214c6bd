/* What a preflight found, for people and for programs. */
#ifndef PHASED_WORKER_PREFLIGHT_REPORT_H
#define PHASED_WORKER_PREFLIGHT_REPORT_H

#include "worker/preflight/rows.h"

#include <jansson.h>

struct text;

/* Adds a line for the whole and an aligned one for each row. */
void report_text(const char *node, const struct row_result *results, size_t count,
                 struct text *text);

/* {"node", "level", "outcome", "observe", "rows": [{"name", "outcome", "text"}], "figures"}, the
 * caller's. `outcome` is "passed", "failed" or "could not tell"; `observe` says that nobody is to
 * act on it. `figures` is taken over, and makes it the full level; NULL: the quick one. */
json_t *report_json(const char *node, bool is_observed, const struct row_result *results,
                    size_t count, json_t *figures);

#endif
