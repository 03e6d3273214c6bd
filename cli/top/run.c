/* A run: its first line and its metrics. */
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

#include <math.h>

enum {
    RUN_CURVE_MAX = 60,
    RUN_CURVE_MIN = 10,
    RUN_BAR = 10,
    RUN_VALUE = 14, /* columns of a value, with its gaps */
};

/* The bar and the time left. Only the newest run has them, because only this run goes on. */
static void run_add_progress(const struct model *model, const json_t *run, struct text *text)
{
    const json_t *phase = model_phase(model, field_text(run, "phase"));
    double eta_s = field_number(phase, "eta_s");
    char buffer[FORMAT_BAR_SIZE], eta[FORMAT_SIZE];
    const char *bar = view_bar(phase, RUN_BAR, model->terminal.unicode, buffer);
    bool is_newest = text_equal(field_text(json_object_get(phase, "run"), "address"),
                                field_text(run, "address"));
    if (!is_newest || isnan(field_number(phase, "step")))
        return;
    if (bar[0])
        text_addf(text, "  %s", bar);
    text_add(text, "  ");
    view_progress(phase, text);
    if (!isnan(eta_s))
        text_addf(text, "  %s left", format_duration(eta_s, eta));
}

void run_header(const struct model *model, struct text *text)
{
    char path[PATHS_SIZE], name[ADDRESS_TEXT_SIZE], buffer[FORMAT_SIZE];
    const json_t *run = model_json(model, paths_of(&model->run, "", path));
    const char *trouble = model_trouble(model, path);
    terminal_colour(&model->terminal, text, COLOUR_BOLD, address_text(&model->run, name));
    text_add(text, "  ");
    if (!run) {
        text_add(text, trouble ? trouble : "asking ...");
        return;
    }
    const char *outcome = field_text(run, "outcome"), *state = field_text(run, "state");
    const char *word = outcome[0] ? outcome : state, *cause = field_text(run, "cause");
    terminal_colour(&model->terminal, text, view_colour(word), word);
    if (cause[0] && !text_equal(cause, word))
        text_addf(text, ": %s", cause);
    run_add_progress(model, run, text);
    struct text wait = {0};
    double took = view_run_duration(run, model->now);
    if (wait_write(run, model->now, &wait))
        text_addf(text, "  %s", text_string(&wait));
    else if (!isnan(took))
        text_addf(text, "  %s %s", outcome[0] ? "took" : "for", format_duration(took, buffer));
    text_fini(&wait);
    if (field_text(run, "message")[0])
        text_addf(text, "  %s", field_text(run, "message"));
}

/* The newest value that is not null, or NULL. `ret_count` counts the values that are not null. */
static const json_t *run_newest(const json_t *values, size_t *ret_count)
{
    const json_t *value, *newest = NULL;
    size_t i;
    *ret_count = 0;
    json_array_foreach(values, i, value)
    {
        if (json_is_null(value))
            continue;
        newest = value;
        ++*ret_count;
    }
    return newest;
}

/* Adds a metric with its newest value and its curve. `is_single` chooses which metrics are added:
 * those with a single value, or those with a curve. */
static void run_add_metric(const struct model *model, const char *name, const json_t *steps,
                           const json_t *values, int columns, bool is_single, struct table *table)
{
    char number[FORMAT_SIZE];
    size_t count;
    struct spark spark = {0};
    const json_t *newest = run_newest(values, &count);
    struct text curve = {0};
    if ((count < 2) != is_single)
        return;
    spark_add(&spark, steps, values);
    spark_write(&spark, columns, model->terminal.unicode, &curve);
    table_add(table, name);
    table_add(table, newest ? format_number(field_as_number(newest), number) : "");
    table_take(table, COLOUR_CYAN, &curve);
    spark_fini(&spark);
}

void run_metrics_content(const struct model *model, const struct terminal *terminal,
                         struct content *content)
{
    static const struct table_column columns[] = {{"METRIC", TABLE_LEFT, TABLE_NAME},
                                                  {"VALUE", TABLE_RIGHT, TABLE_WHOLE},
                                                  {"NEWEST STEPS", TABLE_LEFT, TABLE_REST}};
    char path[PATHS_SIZE];
    const json_t *answer = model_json(model, paths_of(&model->run, PATHS_METRICS, path));
    const json_t *steps = json_object_get(answer, "steps");
    json_t *series = json_object_get(answer, "series"), *values;
    struct table table;
    int longest = 0, curve;
    const char *name;
    size_t count = json_array_size(steps);
    text_add(&content->title, "metrics");
    if (count == 0) {
        text_add(&content->text, answer ? "no metrics yet\n" : "asking ...\n");
        return;
    }
    text_addf(&content->title, ", steps %.0f to %.0f", json_number_value(json_array_get(steps, 0)),
              json_number_value(json_array_get(steps, count - 1)));
    json_object_foreach(series, name, values)
    {
        int size = (int)terminal_columns(name);
        longest = size > longest ? size : longest;
    }
    curve = terminal->columns - longest - RUN_VALUE;
    curve = curve > RUN_CURVE_MAX ? RUN_CURVE_MAX : curve < RUN_CURVE_MIN ? RUN_CURVE_MIN : curve;
    table_init(&table, columns, sizeof columns / sizeof columns[0]);
    for (int is_single = 0; is_single < 2; is_single++)
        json_object_foreach(series, name, values)
            run_add_metric(model, name, steps, values, curve, is_single, &table);
    table_write(&table, terminal, 0, &content->text);
    content->headings = 1;
}
