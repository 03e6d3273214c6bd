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

static void workflows_add(const struct model *model, const json_t *workflow, struct table *table,
                          struct content *content)
{
    char bar[FORMAT_BAR_SIZE], key[ADDRESS_TEXT_SIZE];
    (void)snprintf(key, sizeof key, "%lld", field_integer(workflow, "workflow"));
    content_add_key(content, key);
    current_add_row(table, workflow, COLOUR_PLAIN,
                    view_bar(current_phase(workflow), WORKFLOWS_BAR, model->terminal.unicode, bar),
                    model->now);
}

/* Whether a workflow that the search has found is not in the list. The list has all workflows that
 * have not ended. */
static bool workflows_is_left_out(const json_t *workflows, const json_t *found)
{
    if (isnan(field_number(found, "ended")))
        return false;
    for (size_t i = json_array_size(workflows); i-- > 0;)
        if (json_equal(json_object_get(json_array_get(workflows, i), "workflow"),
                       json_object_get(found, "workflow")))
            return false;
    return true;
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
    const struct answer *search = model_search(model);
    struct table table;
    size_t i;
    const json_t *found = json_object_get(search ? search->json : NULL, "workflows");
    if (json_array_size(workflows) + json_array_size(found) == 0) {
        text_add(&content->text, answer ? "no workflows; submit one with 'phasectl submit FILE'\n"
                                        : "asking ...\n");
        return;
    }
    table_init(&table, columns, sizeof columns / sizeof columns[0]);
    json_array_foreach(workflows, i, workflow) workflows_add(model, workflow, &table, content);
    json_array_foreach(found, i, workflow) if (workflows_is_left_out(workflows, workflow))
        workflows_add(model, workflow, &table, content);
    table_write(&table, terminal, 0, &content->text);
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
            text_equal(current_state(workflow), states[state]);
        char *words = text_format("%zu %s", count, states[state]);
        text_add(text, count ? "  " : "");
        terminal_colour(&model->terminal, text, view_colour(states[state]), count ? words : "");
        free(words);
    }
    long long rest = field_integer(answer, "total") - (long long)json_array_size(workflows);
    if (rest > 0)
        text_addf(text, "  and %lld more, found by /", rest);
}
