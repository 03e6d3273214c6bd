/* What stands in each pane, as lines of coloured text for a width. Each function fills an empty
 * `content`; `terminal` has the width. */
#ifndef PHASED_CLI_TOP_PANES_H
#define PHASED_CLI_TOP_PANES_H

struct content;
struct model;
struct terminal;
struct text;

/* workflows.c */
void workflows_content(const struct model *model, const struct terminal *terminal,
                       struct content *content);
/* Adds how many workflows there are in each state. */
void workflows_count(const struct model *model, struct text *text);

/* phases.c */
void phases_content(const struct model *model, const struct terminal *terminal,
                    struct content *content);

/* phase.c: about the selected phase */
void phase_content(const struct model *model, const struct terminal *terminal,
                   struct content *content);
void phase_gate_content(const struct model *model, const struct terminal *terminal,
                        struct content *content);
void phase_gpus_content(const struct model *model, const struct terminal *terminal,
                        struct content *content);
void phase_runs_content(const struct model *model, const struct terminal *terminal,
                        struct content *content);

/* run.c */
void run_metrics_content(const struct model *model, const struct terminal *terminal,
                         struct content *content);
/* Adds what stands in the first line. */
void run_header(const struct model *model, struct text *text);

#endif
