/* How workflows, phases, runs and gates look: what several verbs print alike. Each adds whole lines
 * to `text`, or fills one cell. */
#ifndef PHASED_CLI_VIEW_H
#define PHASED_CLI_VIEW_H

#include "cli/terminal.h"

#include <stdbool.h>

#include <jansson.h>

struct text;

/* The colour of the state or outcome of a workflow, phase, run or check. */
enum colour view_colour(const char *state);

bool view_is_final(const char *state);

/* The state of a phase; `stopping` while its run does, for a person or by itself. */
const char *view_state(const json_t *phase);

/* `320/600`, `320`, or nothing. */
void view_progress(const json_t *phase, struct text *text);

/* The one metric that tells most: `loss 4.21`, else the first there is. */
void view_metric(const json_t *phase, struct text *text);

/* What of `by_gpu` a run took, and for which GPU: `h100 (NVIDIA H100 80GB HBM3)`. False, and
 * nothing, where its phase does not differ by GPU, or the run has not begun. */
bool view_hardware(const json_t *run, struct text *text);

/* How long a run took, or has been running; NaN before it started. */
double view_run_duration(const json_t *run, double now);

/* A table of the workflow's phases. `now` is seconds since 1970. */
void view_phases(const struct terminal *terminal, const json_t *workflow, double now,
                 struct text *text);

/* A table of runs. `now` is seconds since 1970. */
void view_runs(const struct terminal *terminal, const json_t *runs, double now, struct text *text);

/* A table of the members of a matrix, the best first. `now` is seconds since 1970. */
void view_members(const struct terminal *terminal, const json_t *matrix, double now,
                  struct text *text);

/* A table of the nodes that jobs are kept away from. `now` is seconds since 1970. */
void view_nodes(const struct terminal *terminal, const json_t *nodes, double now,
                struct text *text);

/* The table of a gate's checks, and below it what each check that did not pass says. */
void view_gate(const struct terminal *terminal, const json_t *gate, unsigned indent,
               struct text *text);

#endif
