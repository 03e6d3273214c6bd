/* The tree of phases: a phase stands below the last of the phases it comes after. The members of a
 * matrix stand below the matrix, if it is unfolded. */
#include "cli/top/panes.h"

#include "cli/field.h"
#include "cli/format.h"
#include "cli/phrases.h"
#include "cli/table.h"
#include "cli/top/content.h"
#include "cli/top/model.h"
#include "cli/top/paths.h"
#include "cli/top/spark.h"
#include "cli/view.h"
#include "lib/memory.h"

#include <stdlib.h>

enum { PHASES_WIDE = 120 }; /* columns from which bars and curves are longer */

struct phases {
    const struct model *model;
    const json_t *list;
    size_t *parents; /* of each phase of the list */
    struct table table;
    struct content *content;
    int bar, curve; /* columns */
};

static size_t phases_find(const json_t *list, const char *name)
{
    size_t at = 0;
    while (at < json_array_size(list) &&
           !text_equal(field_text(json_array_get(list, at), "phase"), name))
        at++;
    return at;
}

/* The phase that `phase` stands below. The size of the list: `phase` stands below no other
 * phase. */
static size_t phases_parent(const json_t *list, const json_t *phase)
{
    const json_t *after = json_object_get(phase, "after"), *name;
    size_t i, parent = json_array_size(list), last = 0;
    bool has_parent = false;
    if (members_has(phase))
        return phases_find(list, field_text(phase, "matrix"));
    json_array_foreach(after, i, name)
    {
        size_t at = phases_find(list, json_string_value(name));
        has_parent = has_parent || at < parent;
        last = at < parent && at > last ? at : last;
    }
    return has_parent ? last : parent;
}

static bool phases_is_shown(const struct phases *phases, const json_t *phase)
{
    return !members_has(phase) || text_equal(field_text(phase, "matrix"), phases->model->unfolded);
}

/* Whether no other phase below the same phase follows. */
static bool phases_is_last(const struct phases *phases, size_t index)
{
    for (size_t i = index + 1; i < json_array_size(phases->list); i++)
        if (phases->parents[i] == phases->parents[index] &&
            phases_is_shown(phases, json_array_get(phases->list, i)))
            return false;
    return true;
}

/* `before` are the lines of the tree before the name. */
static void phases_add_name(struct phases *phases, const json_t *phase, const char *before)
{
    bool is_unfolded = text_equal(field_text(phase, "phase"), phases->model->unfolded);
    bool unicode = phases->model->terminal.unicode;
    struct text name = {0};
    text_add(&name, before);
    if (members_is_matrix(phase))
        text_add(&name, is_unfolded ? (unicode ? "▾ " : "- ") : (unicode ? "▸ " : "+ "));
    text_add(&name, field_text(phase, "phase"));
    table_take(&phases->table, COLOUR_PLAIN, &name);
}

static void phases_add_bar(struct phases *phases, const json_t *phase, const char *state)
{
    char bar[FORMAT_BAR_SIZE];
    table_add_in(&phases->table, view_colour(state),
                 view_bar(phase, phases->bar, phases->model->terminal.unicode, bar));
}

/* The newest value of the most important metric, and its curve from the run's first step on. */
static void phases_add_metric(struct phases *phases, const json_t *phase)
{
    char path[PATHS_SIZE];
    const char *name = view_best_metric(json_object_get(phase, "metrics"));
    struct spark spark = {0};
    struct text curve = {0};
    long long from = 0;
    view_add_cell(&phases->table, phase, view_metric);
    while (paths_curve(phase, from, path)) {
        const json_t *answer = model_json(phases->model, path);
        const json_t *series = json_object_get(answer, "series");
        spark_add(&spark, json_object_get(answer, "steps"), json_object_get(series, name));
        from = paths_curve_next(answer, from);
        if (!from)
            break;
    }
    spark_write(&spark, phases->curve, phases->model->terminal.unicode, &curve);
    table_take(&phases->table, COLOUR_CYAN, &curve);
    spark_fini(&spark);
}

/* Members have no names of their own, so their params come first. */
static void phases_add_note(struct phases *phases, const json_t *phase)
{
    struct text line = {0}, note = {0};
    members_case(phase, &line);
    view_note(phases->list, phase, phases->model->now, &note);
    text_addf(&line, "%s%s", line.size && note.size ? "; " : "", text_string(&note));
    table_take(&phases->table, COLOUR_PLAIN, &line);
    text_fini(&note);
}

static void phases_add(struct phases *phases, const json_t *phase, const char *before)
{
    const char *state = view_state(phase);
    struct table *table = &phases->table;
    content_add_key(phases->content, field_text(phase, "address"));
    phases_add_name(phases, phase, before);
    table_add_in(table, view_colour(state), state);
    phases_add_bar(phases, phase, state);
    view_add_cell(table, phase, view_progress);
    view_add_eta(table, phase);
    phases_add_metric(phases, phase);
    view_add_spent(table, phase);
    phases_add_note(phases, phase);
}

/* Adds the phases below `parent`, each with the phases below it. Phases without a parent stand at
 * the edge. */
static void phases_add_below(struct phases *phases, size_t parent, const char *edge)
{
    bool unicode = phases->model->terminal.unicode;
    bool is_below = parent < json_array_size(phases->list);
    const json_t *phase;
    size_t i;
    json_array_foreach(phases->list, i, phase)
    {
        if (phases->parents[i] != parent || !phases_is_shown(phases, phase))
            continue;
        bool is_last = phases_is_last(phases, i);
        const char *branch = is_last ? (unicode ? "└ " : "` ") : (unicode ? "├ " : "| ");
        const char *trunk = is_last ? "  " : (unicode ? "│ " : "| ");
        char *before = text_format("%s%s", edge, is_below ? branch : "");
        char *below = text_format("%s%s", edge, is_below ? trunk : "");
        phases_add(phases, phase, before);
        if (i != parent)
            phases_add_below(phases, i, below);
        free(before);
        free(below);
    }
}

void phases_content(const struct model *model, const struct terminal *terminal,
                    struct content *content)
{
    static const struct table_column columns[] = {
        {"PHASE", TABLE_LEFT, TABLE_NAME},      {"STATE", TABLE_LEFT, TABLE_WHOLE},
        {"PROGRESS", TABLE_LEFT, TABLE_USEFUL}, {"STEP", TABLE_RIGHT, TABLE_USEFUL},
        {"ETA", TABLE_RIGHT, TABLE_USEFUL},     {"METRIC", TABLE_LEFT, TABLE_USEFUL},
        {"CURVE", TABLE_LEFT, TABLE_USEFUL},    {"RUNS", TABLE_RIGHT, TABLE_SPARE},
        {"GPU TIME", TABLE_RIGHT, TABLE_SPARE}, {"COST", TABLE_RIGHT, TABLE_SPARE},
        {"NOTE", TABLE_LEFT, TABLE_REST},
    };
    bool is_wide = terminal->columns >= PHASES_WIDE;
    struct phases phases = {
        .model = model,
        .list = json_object_get(model_workflow(model), "phases"),
        .content = content,
        .bar = is_wide ? 20 : 10,
        .curve = is_wide ? 20 : 10,
    };
    char path[PATHS_SIZE];
    const char *trouble = model_trouble(model, paths_of(&model->workflow, "", path));
    text_add(&content->title, "phases");
    if (!phases.list) {
        text_addf(&content->text, "%s\n", trouble ? trouble : "asking ...");
        return;
    }
    size_t count = json_array_size(phases.list);
    phases.parents = xcalloc(count + 1, sizeof *phases.parents);
    for (size_t i = 0; i < count; i++)
        phases.parents[i] = phases_parent(phases.list, json_array_get(phases.list, i));
    table_init(&phases.table, columns, sizeof columns / sizeof columns[0]);
    phases_add_below(&phases, count, "");
    table_write(&phases.table, terminal, 0, &content->text);
    free(phases.parents);
    content->headings = 1;
}
