/* How phases, runs, members, nodes and gates look in all verbs. Each function adds whole lines to
 * `text`, or the text of one cell. */
#ifndef PHASED_CLI_VIEW_H
#define PHASED_CLI_VIEW_H

#include "cli/format.h"
#include "cli/terminal.h"
#include "lib/protocol/words.h"

#include <stdbool.h>

#include <jansson.h>

struct table;
struct text;

/* The colour of the state or outcome of a workflow, phase, run or check. */
enum colour view_colour(const char *state);

bool view_is_final(const char *state);

/* The state of a phase as people see it. VIEW_STOPPING: its run stops. If a matrix has begun, or
 * only held members are left, returns the state of its members. Otherwise as
 * field_phase_state(). */
enum { VIEW_STOPPING = PHASE_STATE_COUNT };
int view_phase_state(const json_t *phase);
/* The word for it. */
const char *view_state(const json_t *phase);

/* Adds `320/600`, `320` or nothing; for a matrix `3 of 10` members. */
void view_progress(const json_t *phase, struct text *text);

/* Writes the bar of a phase into `bar` and returns it. Returns "" if the amount of work is not
 * known. The bar of a matrix counts members. */
const char *view_bar(const json_t *phase, int columns, bool unicode, char bar[FORMAT_BAR_SIZE]);

/* The name of the most important metric: a loss, otherwise the first. `metrics` is an object by
 * name. NULL if it is empty. */
const char *view_best_metric(const json_t *metrics);

/* Adds the most important metric of a phase, such as `loss 4.21`. */
void view_metric(const json_t *phase, struct text *text);

/* Adds which entry of `by_gpu` a run uses, and its GPU: `h100 (NVIDIA H100 80GB HBM3)`. Adds
 * nothing if its phase has no `by_gpu`, or the run has not begun. */
void view_hardware(const json_t *run, struct text *text);

/* How long a run took, or has run until `now`; NaN before its start. */
double view_run_duration(const json_t *run, double now);

/* Adds why a phase is in its state, or where it runs. `phases` are all phases of the workflow.
 * `now` is seconds since 1970. */
void view_note(const json_t *phases, const json_t *phase, double now, struct text *text);

/* Adds a cell with what `write` adds about the object. */
void view_add_cell(struct table *table, const json_t *object,
                   void (*write)(const json_t *object, struct text *text));
/* Adds a row with this name and what `write` adds; no row if it adds nothing. */
void view_add_named(struct table *table, const char *name, const json_t *object,
                    void (*write)(const json_t *object, struct text *text));
/* Adds a cell with the time left of a phase; empty if it is not known. */
void view_add_eta(struct table *table, const json_t *phase);
/* Adds cells with the runs, the GPU time and the cost of a phase. */
void view_add_spent(struct table *table, const json_t *phase);

/* A table of the workflow's phases. `now` is seconds since 1970. */
void view_phases(const struct terminal *terminal, const json_t *workflow, double now,
                 struct text *text);

/* A table of runs. `now` is seconds since 1970. */
void view_runs(const struct terminal *terminal, const json_t *runs, double now, struct text *text);

/* A table of the members of a matrix, the best first. `now` is seconds since 1970. */
void view_members(const struct terminal *terminal, const json_t *matrix, double now,
                  struct text *text);

/* A table of the nodes that are left out. `now` is seconds since 1970. */
void view_nodes(const struct terminal *terminal, const json_t *nodes, double now,
                struct text *text);

/* "the record cannot be written since 08:21:17: ...". The caller frees the text. */
char *view_trouble_line(const json_t *ping);
/* What stops all work: lines from the answer about the daemon, or nothing. */
void view_trouble(const struct terminal *terminal, const json_t *ping, struct text *text);

/* The table of the checks of a gate, then the reasons of the checks that did not pass. */
void view_gate(const struct terminal *terminal, const json_t *gate, unsigned indent,
               struct text *text);

/* What a gate has decided or would find now, its checks, and the guards of the newest run. `now` is
 * seconds since 1970. */
void view_judgement(const struct terminal *terminal, const json_t *gate, double now,
                    struct text *text);

#endif
