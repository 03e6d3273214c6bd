/* What is known about the selected phase: why it is in its state and what can be done, its gate,
 * its GPUs and its runs. */
#include "cli/top/panes.h"

#include "cli/field.h"
#include "cli/format.h"
#include "cli/gpu_view.h"
#include "cli/held.h"
#include "cli/phrases.h"
#include "cli/table.h"
#include "cli/top/content.h"
#include "cli/top/model.h"
#include "cli/top/paths.h"
#include "cli/view.h"
#include "lib/expr/check.h"
#include "lib/protocol/words.h"

#include <math.h>
#include <string.h>

/* The selected phase as its workflow has it; NULL: no phase is selected. */
static const json_t *phase_selected(const struct model *model, struct address *ret_address)
{
    return model_selected(model, PANE_PHASES, ret_address) ? model_phase(model, ret_address->phase)
                                                           : NULL;
}

/* A terminal where a row of a table may have several lines. */
static struct terminal phase_folding(const struct terminal *terminal)
{
    struct terminal folding = *terminal;
    folding.one_line = false;
    return folding;
}

static void phase_add_no_run(const struct model *model, struct content *content)
{
    struct address address;
    bool is_matrix = members_is_matrix(phase_selected(model, &address));
    text_add(&content->text, is_matrix
                                 ? "a matrix has no runs of its own; Enter shows its members\n"
                                 : "no run yet\n");
}

static void phase_add_amounts(struct table *table, const json_t *phase)
{
    const json_t *total = members_total(phase);
    double usd = field_number(total, "cost_usd"),
           end_usd = field_number(phase, "projected_cost_usd");
    char gpu_time[FORMAT_SIZE], cost[FORMAT_SIZE], end[FORMAT_SIZE];
    struct text text = {0};
    text_addf(&text, "%s of GPU time",
              format_duration(field_number(total, "gpu_seconds"), gpu_time));
    if (!isnan(usd))
        text_addf(&text, ", %s", format_cost(usd, cost));
    if (!isnan(end_usd))
        text_addf(&text, "; at this pace %s at its end", format_cost(end_usd, end));
    table_add_named(table, "spent", text_string(&text));
    text_fini(&text);
}

void phase_content(const struct model *model, const struct terminal *terminal,
                   struct content *content)
{
    const struct terminal folding = phase_folding(terminal);
    struct address address;
    const json_t *phase = phase_selected(model, &address);
    struct text note = {0};
    struct table table;
    text_addf(&content->title, "%s", phase ? field_text(phase, "address") : "phase");
    if (!phase)
        return;
    table_init(&table, table_names, TABLE_NAMES_COLUMNS);
    view_note(json_object_get(model_workflow(model), "phases"), phase, model->now, &note);
    table_add_named(&table, view_state(phase), text_string(&note));
    view_add_named(&table, "member", phase, members_case);
    if (!strstr(text_string(&note), field_text(phase, "warning")))
        table_add_named(&table, "warning", field_text(phase, "warning"));
    view_add_named(&table, "suspect", phase, suspect_note);
    table_add_named(&table, "best", field_text(phase, "best"));
    table_add_named(&table, "checkpoint", field_text(phase, "checkpoint"));
    phase_add_amounts(&table, phase);
    table_write(&table, &folding, 0, &content->text);
    if (field_phase_state(phase) == PHASE_HELD)
        held_keys(&folding, phase, &content->text);
    text_fini(&note);
}

/* Which checks come first: those that hold the phase. */
static int phase_check_rank(const json_t *verdict)
{
    int outcome = field_check_outcome(verdict);
    if (outcome == CHECK_PASSED)
        return 3;
    if (field_is_true(verdict, "warn"))
        return 2;
    return outcome == CHECK_FAILED ? 0 : 1;
}

/* Sorts a list of the gate. Checks of the same rank keep the order of the file. */
static void phase_sort_checks(json_t *gate, const char *list)
{
    json_t *checks = json_object_get(gate, list), *verdict;
    json_t *sorted = json_array();
    size_t i;
    for (int rank = 0; rank <= 3; rank++)
        json_array_foreach(checks, i, verdict) if (phase_check_rank(verdict) == rank)(void)
            json_array_append(sorted, verdict);    /* fails only without memory */
    (void)json_object_set_new(gate, list, sorted); /* as above */
}

static void phase_write_gate(const struct model *model, const struct terminal *terminal,
                             const json_t *gate, struct text *text)
{
    static const char *const lists[] = {"so_far", "checks", "guards"};
    const struct terminal folding = phase_folding(terminal);
    json_t *sorted = json_copy((json_t *)gate);
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        phase_sort_checks(sorted, lists[i]);
    view_judgement(&folding, sorted, model->now, text);
    json_decref(sorted);
}

void phase_gate_content(const struct model *model, const struct terminal *terminal,
                        struct content *content)
{
    struct address address;
    char path[PATHS_SIZE];
    text_add(&content->title, "gate");
    if (!phase_selected(model, &address))
        return;
    const json_t *gate = model_json(model, paths_of(&address, PATHS_GATE, path)), *verdict;
    const json_t *so_far = json_object_get(gate, "so_far");
    size_t i, passed = 0;
    json_array_foreach(so_far, i, verdict) passed += field_check_outcome(verdict) == CHECK_PASSED;
    if (json_array_size(so_far))
        text_addf(&content->title, ", %zu of %zu checks pass so far", passed,
                  json_array_size(so_far));
    if (gate)
        phase_write_gate(model, terminal, gate, &content->text);
    else
        text_add(&content->text, "asking ...\n");
}

/* If nothing is known, the pane is shown only while keys move in it. The steps of nodes are left
 * out: the list of phases has a newer step. */
void phase_gpus_content(const struct model *model, const struct terminal *terminal,
                        struct content *content)
{
    struct address address, run;
    char path[PATHS_SIZE];
    const json_t *newest = json_object_get(phase_selected(model, &address), "run"), *gpus;
    bool has_run = address_parse(field_text(newest, "address"), &run, NULL) == 0;
    gpus = has_run ? model_json(model, paths_of(&run, PATHS_GPUS, path)) : NULL;
    if (!gpu_view_knows(gpus) && model->focus[PLACE_WORKFLOW] != PANE_GPUS)
        return;
    text_add(&content->title, "GPUs");
    if (!has_run)
        phase_add_no_run(model, content);
    else if (!gpus)
        text_add(&content->text, "asking ...\n");
    else
        gpu_view_nodes(terminal, gpus, NAN, &content->text);
}

void phase_runs_content(const struct model *model, const struct terminal *terminal,
                        struct content *content)
{
    struct address address;
    char path[PATHS_SIZE];
    const json_t *run;
    size_t i;
    text_add(&content->title, "runs");
    if (!phase_selected(model, &address))
        return;
    const json_t *runs = json_object_get(model_json(model, paths_of(&address, "", path)), "runs");
    if (json_array_size(runs) == 0) {
        phase_add_no_run(model, content);
        return;
    }
    view_runs(terminal, runs, model->now, &content->text);
    json_array_foreach(runs, i, run) content_add_key(content, field_text(run, "address"));
    content->headings = 1;
}
