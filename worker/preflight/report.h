/* The results of a preflight, for people and for programs. */
#ifndef PHASED_WORKER_PREFLIGHT_REPORT_H
#define PHASED_WORKER_PREFLIGHT_REPORT_H

#include "worker/preflight/rows.h"

#include <jansson.h>

struct text;

/* Adds a line for the node and an aligned line for each row. */
void report_text(const char *node, const struct row_result *results, size_t count,
                 struct text *text);

/* Returns {"node", "level", "outcome", "observe", "rows": [{"name", "outcome", "essential",
 * "text"}], "figures"}, a new reference. `outcome` is "passed", "failed" or "could not tell";
 * `observe` says that nobody should act on the outcome. If an `essential` row could not tell, the
 * node cannot pass. Takes over `figures`, which belong to the full level; NULL: the quick level. */
json_t *report_json(const char *node, bool is_observed, const struct row_result *results,
                    size_t count, json_t *figures);

#endif
