/* The list of workflows. */
#include "cli/top/panes.h"

#include "cli/current.h"
#include "cli/field.h"
#include "cli/format.h"
#include "cli/table.h"
#include "cli/top/content.h"
#include "cli/top/model.h"
#include "cli/top/paths.h"
#include "cli/view.h"

#include <math.h>
#include <stdio.h>

enum { WORKFLOWS_BAR = 10 };

/* The state of a live workflow is that of its current phase. */
static const char *workflows_state(const json_t *workflow, const json_t *phase)
{
    const char *state = field_text(workflow, "state");
    return text_equal(state, "running") && phase ? view_state(phase) : state;
}

static void workflows_add(const struct model *model, const json_t *workflow, struct table *table,
                          struct content *content)
{
    const json_t *phase = current_phase(workflow);
    const char *state = workflows_state(workflow, phase);
    char buffer[FORMAT_SIZE], bar[FORMAT_BAR_SIZE], key[ADDRESS_TEXT_SIZE];
    double ended = field_number(workflow, "ended"), eta_s = field_number(phase, "eta_s");
    double step = field_number(phase, "step"), total = field_number(phase, "total");
    struct text progress = {0}, note = {0};
    (void)snprintf(key, sizeof key, "%lld", field_integer(workflow, "workflow"));
    content_add_key(content, key);
    view_progress(phase, &progress);
    current_note(workflow, phase, model->now, &note);
    table_add(table, COLOUR_PLAIN, key);
    table_add(table, COLOUR_PLAIN, field_text(workflow, "name"));
    table_add(table, view_colour(state), state);
    table_add(table, COLOUR_PLAIN, field_text(phase, "phase"));
    table_add(table, COLOUR_PLAIN, text_string(&progress));
    table_add(table, COLOUR_PLAIN, isnan(eta_s) ? "" : format_duration(eta_s, buffer));
    bool has_bar = !isnan(step) && total > 0;
    table_add(table, view_colour(state),
              has_bar ? format_bar(step, total, WORKFLOWS_BAR, model->terminal.unicode, bar) : "");
    double submitted = field_number(workflow, "submitted");
    table_add(table, COLOUR_PLAIN,
              format_duration((isnan(ended) ? model->now : ended) - submitted, buffer));
    table_add(table, COLOUR_PLAIN, format_duration(field_number(workflow, "gpu_seconds"), buffer));
    table_add(table, COLOUR_PLAIN, format_cost(field_number(workflow, "cost_usd"), buffer));
    table_add(table, COLOUR_PLAIN, text_string(&note));
    text_fini(&progress);
    text_fini(&note);
}

void workflows_content(const struct model *model, const struct terminal *terminal,
                       struct content *content)
{
    static const struct table_column columns[] = {
        {"WORKFLOW", TABLE_RIGHT, TABLE_WHOLE}, {"NAME", TABLE_LEFT, TABLE_NAME},
        {"STATE", TABLE_LEFT, TABLE_WHOLE},     {"PHASE", TABLE_LEFT, TABLE_NAME},
        {"STEP", TABLE_RIGHT, TABLE_USEFUL},    {"ETA", TABLE_RIGHT, TABLE_USEFUL},
        {"PROGRESS", TABLE_LEFT, TABLE_SPARE},  {"AGE", TABLE_RIGHT, TABLE_SPARE},
        {"GPU TIME", TABLE_RIGHT, TABLE_SPARE}, {"COST", TABLE_RIGHT, TABLE_SPARE},
        {"NOTE", TABLE_LEFT, TABLE_REST},
    };
    const json_t *answer = model_json(model, PATHS_WORKFLOWS), *workflow;
    const json_t *workflows = json_object_get(answer, "workflows");
    struct table table;
    size_t i;
    if (json_array_size(workflows) == 0) {
        text_add(&content->text, answer ? "no workflows; submit one with 'phasectl submit FILE'\n"
                                        : "asking ...\n");
        return;
    }
    table_init(&table, columns, sizeof columns / sizeof columns[0]);
    json_array_foreach(workflows, i, workflow) workflows_add(model, workflow, &table, content);
    table_write(&table, terminal, 0, &content->text);
    table_fini(&table);
    content->headings = 1;
}

void workflows_count(const struct model *model, struct text *text)
{
    static const char *const states[] = {
        "held",    "active",    "deciding", "stopping",  "queued",
        "blocked", "succeeded", "failed",   "cancelled",
    };
    const json_t *answer = model_json(model, PATHS_WORKFLOWS), *workflow;
    const json_t *workflows = json_object_get(answer, "workflows");
    size_t i;
    for (size_t state = 0; state < sizeof states / sizeof states[0]; state++) {
        size_t count = 0;
        json_array_foreach(workflows, i, workflow) count +=
            text_equal(workflows_state(workflow, current_phase(workflow)), states[state]);
        char *words = text_format("%zu %s", count, states[state]);
        text_add(text, count ? "  " : "");
        terminal_colour(&model->terminal, text, view_colour(states[state]), count ? words : "");
        free(words);
    }
    long long rest = field_integer(answer, "total") - (long long)json_array_size(workflows);
    if (rest > 0)
        text_addf(text, "  and %lld more", rest);
}
