/* phasectl diff: two workflows, phases or runs side by side: what was submitted, and what came of
 * it. */
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/compare/difference.h"
#include "cli/current.h"
#include "cli/field.h"
#include "cli/options.h"
#include "cli/phrases.h"
#include "cli/reader/reader.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "cli/view.h"
#include "lib/address.h"
#include "lib/error.h"
#include "lib/spec/spec.h"
#include "lib/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#define DIFF_CHANGES "changes" /* what git diff printed at the submission */

/* One of the two sides. All JSON is owned. */
struct diff_side {
    struct address address;
    char name[ADDRESS_TEXT_SIZE];
    json_t *code;    /* file, folder, machine, commit and options, by name */
    json_t *params;  /* by phase, by name */
    json_t *spec;    /* the resolved file, or phase, without params */
    json_t *figures; /* by phase: what diff_figures[] has */
    json_t *total;   /* of a workflow: the figures of all phases together; else NULL */
};

struct diff {
    struct diff_side left, right;
    json_t *code, *params, *spec; /* what differs, from difference_find() */
};

static void diff_fini(struct diff *diff)
{
    struct diff_side *sides[] = {&diff->left, &diff->right};
    for (size_t i = 0; i < 2; i++) {
        json_decref(sides[i]->code);
        json_decref(sides[i]->params);
        json_decref(sides[i]->spec);
        json_decref(sides[i]->figures);
        json_decref(sides[i]->total);
    }
    json_decref(diff->code);
    json_decref(diff->params);
    json_decref(diff->spec);
}

/* --- What was submitted ----------------------------------------------------------------------- */

static void diff_read_code(struct diff_side *side, const json_t *source)
{
    static const struct {
        const char *name, *shown;
    } facts[] = {
        {"file", "file"},     {"workdir", "folder"}, {"host", "machine"},
        {"commit", "commit"}, {"branch", "branch"},  {"diff", DIFF_CHANGES},
        {"variants", "with"}, {"set", "set"},        {"packages", "packages"},
        {"after", "after"},   {"window", "window"},  {"priority", "priority"},
        {"snapshot", "copy"},
    };
    side->code = json_object();
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        (void)json_object_set(side->code, facts[i].shown, json_object_get(source, facts[i].name));
}

/* Resolves the file as it was submitted. Returns NULL if today's phasectl cannot read it. */
static json_t *diff_resolve(const json_t *source)
{
    const json_t *spec = json_object_get(source, "spec");
    struct spec_overrides overrides = {.variants = json_object_get(source, "variants"),
                                       .set = json_object_get(source, "set")};
    struct spec_problems problems = {0};
    json_t *json = NULL;
    if (spec_parse("workflow", field_text(source, "spec"), json_string_length(spec), &overrides,
                   &json, &problems) < 0)
        json = NULL;
    spec_problems_fini(&problems);
    return json;
}

/* Takes one phase: its params, and its other members. */
static void diff_take_phase(struct diff_side *side, json_t *phase)
{
    json_t *params = json_object_get(phase, "params");
    const char *name = field_text(phase, "name");
    if (side->address.phase[0]) {
        (void)json_object_update(side->params, params); /* these fail only without memory */
        (void)json_object_update(side->spec, phase);
        (void)json_object_del(side->spec, "params");
        (void)json_object_del(side->spec, "name");
        return;
    }
    if (json_object_size(params))
        (void)json_object_set(side->params, name, params);
    json_t *rest = json_copy(phase);
    (void)json_object_del(rest, "params");
    (void)json_object_del(rest, "name");
    (void)json_object_set_new(json_object_get(side->spec, "phases"), name, rest);
}

/* Takes the params and the rest of the resolved file, by phase. A matrix has one entry for all its
 * members. */
static void diff_read_spec(struct diff_side *side, const json_t *source)
{
    json_t *resolved = diff_resolve(source), *phase;
    bool is_whole = !side->address.phase[0];
    size_t i;
    side->params = json_object();
    side->spec = !resolved  ? json_pack("{s:O}", "text", json_object_get(source, "spec"))
                 : is_whole ? json_copy(resolved)
                            : json_object();
    if (is_whole && resolved)
        (void)json_object_set_new(side->spec, "phases", json_object());
    json_array_foreach(json_object_get(resolved, "phases"), i, phase)
    {
        bool is_wanted = is_whole ? !json_object_get(phase, "member")
                                  : text_equal(side->address.phase, field_text(phase, "name"));
        if (is_wanted)
            diff_take_phase(side, phase);
    }
    json_decref(resolved);
}

/* --- How the runs ended ----------------------------------------------------------------------- */

static void diff_add_figure(json_t *figures, const char *name, const json_t *value)
{
    if (value && !json_is_null(value) && !(json_is_string(value) && !json_string_length(value)))
        (void)json_object_set(figures, name, (json_t *)value); /* fails only without memory */
}

/* `state` is what `status` shows. */
static json_t *diff_phase_figures(const json_t *phase, const char *state)
{
    const json_t *total = members_total(phase);
    json_t *figures = json_object();
    (void)json_object_set_new(figures, "state", json_string(state));
    diff_add_figure(figures, "runs", json_object_get(total, "attempts"));
    diff_add_figure(figures, "step", json_object_get(phase, "step"));
    diff_add_figure(figures, "best", json_object_get(phase, "best"));
    diff_add_figure(figures, "metrics", json_object_get(phase, "metrics"));
    diff_add_figure(figures, "gpu_seconds", json_object_get(total, "gpu_seconds"));
    diff_add_figure(figures, "cost_usd", json_object_get(total, "cost_usd"));
    return figures;
}

/* The last value of each metric of a run. */
static int diff_add_metrics(struct cli *cli, const struct address *run, json_t *figures,
                            struct error *err)
{
    static const struct option_list all = {.count = 0};
    json_t *metrics, *values, *newest = json_object();
    const char *name;
    int status = reader_get_metrics(cli, run, &all, 0, &metrics, err);
    (void)json_object_set_new(figures, "metrics", newest); /* fails only without memory */
    if (status < 0)
        return status;
    json_object_foreach(json_object_get(metrics, "series"), name, values)
    {
        size_t last = json_array_size(values);
        while (last && json_is_null(json_array_get(values, last - 1)))
            last--;
        diff_add_figure(newest, name, last ? json_array_get(values, last - 1) : NULL);
    }
    json_decref(metrics);
    return 0;
}

static int diff_read_run(struct cli *cli, struct diff_side *side, struct error *err)
{
    json_t *run, *figures;
    int status = client_get_address(cli, &side->address, &run, err);
    if (status < 0)
        return status;
    double took = view_run_duration(run, (double)time(NULL));
    figures = json_object();
    diff_add_figure(figures, "state", json_object_get(run, "state"));
    diff_add_figure(figures, "outcome", json_object_get(run, "outcome"));
    diff_add_figure(figures, "cause", json_object_get(run, "cause"));
    diff_add_figure(figures, "first_step", json_object_get(run, "first_step"));
    diff_add_figure(figures, "step", json_object_get(run, "last_step"));
    status = diff_add_metrics(cli, &side->address, figures, err);
    if (!isnan(took))
        (void)json_object_set_new(figures, "seconds", json_real(took));
    side->figures = json_pack("{s:o}", "run", figures);
    json_decref(run);
    return status;
}

static int diff_read_figures(struct cli *cli, struct diff_side *side, struct error *err)
{
    json_t *json;
    const json_t *phase;
    size_t i;
    if (address_kind(&side->address) == ADDRESS_RUN)
        return diff_read_run(cli, side, err);
    int status = client_get_address(cli, &side->address, &json, err);
    if (status < 0)
        return status;
    side->figures = json_object();
    if (address_kind(&side->address) == ADDRESS_PHASE)
        (void)json_object_set_new(side->figures, "phase",
                                  diff_phase_figures(json, view_state(json)));
    json_array_foreach(json_object_get(json, "phases"), i, phase)
    {
        if (!members_has(phase))
            (void)json_object_set_new(side->figures, field_text(phase, "phase"),
                                      diff_phase_figures(phase, view_state(phase)));
    }
    if (address_kind(&side->address) == ADDRESS_WORKFLOW)
        side->total = diff_phase_figures(json, current_state(json));
    json_decref(json);
    return 0;
}

static int diff_read(struct cli *cli, struct diff_side *side, struct error *err)
{
    json_t *source;
    int status =
        client_get(cli, &source, err, "/v1/workflows/%" PRIu64 "/source", side->address.workflow);
    if (status < 0)
        return status;
    (void)address_text(&side->address, side->name);
    diff_read_code(side, source);
    diff_read_spec(side, source);
    json_decref(source);
    return diff_read_figures(cli, side, err);
}

/* --- Showing ---------------------------------------------------------------------------------- */

static void diff_add_value(struct table *table, const json_t *value)
{
    struct text text = {0};
    difference_value(value, &text);
    table_take(table, COLOUR_PLAIN, &text);
}

/* Whether the value says nothing: null, or a list or an object without members. */
static bool diff_is_empty(const json_t *value)
{
    bool is_plain = !json_is_object(value) && !json_is_array(value);
    return !value || json_is_null(value) ||
           (!is_plain && json_object_size(value) + json_array_size(value) == 0);
}

/* Adds a row. An object that only one side has, and that is too long for a cell, has a row for each
 * member that says something. */
static void diff_add_row(struct table *table, const char *path, const json_t *left,
                         const json_t *right)
{
    const json_t *only = !right ? left : !left ? right : NULL;
    const char *name;
    json_t *value;
    if (!difference_is_long_object(only)) {
        table_add(table, path);
        diff_add_value(table, left);
        diff_add_value(table, right);
        return;
    }
    json_object_foreach((json_t *)only, name, value)
    {
        if (diff_is_empty(value))
            continue;
        char *longer = text_format("%s.%s", path, name);
        diff_add_row(table, longer, left ? value : NULL, right ? value : NULL);
        free(longer);
    }
}

/* Adds a table of what differs, and the lines of long texts below it. */
static void diff_write_part(const struct cli *cli, const struct diff *diff, const char *title,
                            const json_t *rows, struct text *text)
{
    const struct table_column columns[] = {
        {title, TABLE_LEFT, TABLE_WHOLE},
        {diff->left.name, TABLE_LEFT, TABLE_GIVES},
        {diff->right.name, TABLE_LEFT, TABLE_GIVES},
    };
    struct table table;
    const json_t *row;
    size_t i;
    if (json_array_size(rows) == 0)
        return;
    table_init(&table, columns, sizeof columns / sizeof columns[0]);
    json_array_foreach(rows, i, row)
        diff_add_row(&table, field_text(row, "path"), json_object_get(row, "left"),
                     json_object_get(row, "right"));
    table_write(&table, &cli->out, 0, text);
    json_array_foreach(rows, i, row)
    {
        const json_t *left = json_object_get(row, "left"), *right = json_object_get(row, "right");
        const char *path = field_text(row, "path");
        if (!difference_is_long(left) && !difference_is_long(right))
            continue;
        text_addf(text, "%s:\n", path);
        if (rows == diff->code && text_equal(path, DIFF_CHANGES))
            text_addf(text, "  phasectl show %s --diff, phasectl show %s --diff\n", diff->left.name,
                      diff->right.name);
        else
            difference_lines(field_text(row, "left"), field_text(row, "right"), 2, text);
    }
    text_add(text, "\n");
}

enum diff_kind { DIFF_TEXT, DIFF_NUMBER, DIFF_DURATION, DIFF_COST, DIFF_METRICS };

/* The figures of a phase or run, in the order in which they are shown. Metrics have any names, so
 * they are an object of their own. */
static const struct {
    const char *name, *shown;
    enum diff_kind kind;
} diff_figures[] = {
    {"state", "state", DIFF_TEXT},
    {"outcome", "outcome", DIFF_TEXT},
    {"cause", "cause", DIFF_TEXT},
    {"runs", "runs", DIFF_NUMBER},
    {"first_step", "first step", DIFF_NUMBER},
    {"step", "step", DIFF_NUMBER},
    {"best", "best", DIFF_TEXT},
    {"metrics", NULL, DIFF_METRICS},
    {"gpu_seconds", "GPU time", DIFF_DURATION},
    {"cost_usd", "cost", DIFF_COST},
    {"seconds", "time", DIFF_DURATION},
};

static void diff_add_figure_cell(struct table *table, enum diff_kind kind, const json_t *value)
{
    const char *text = json_string_value(value);
    if (!value)
        table_add(table, "-");
    else if (kind == DIFF_TEXT)
        table_add_in(table, view_colour(text ? text : ""), text ? text : "");
    else if (kind == DIFF_DURATION)
        table_add_duration(table, field_as_number(value));
    else if (kind == DIFF_COST)
        table_add_cost(table, field_as_number(value));
    else
        table_add_number(table, field_as_number(value));
}

static void diff_add_change(struct table *table, const json_t *left, const json_t *right)
{
    double from = field_as_number(left), to = field_as_number(right);
    double percent = 100 * (to - from) / fabs(from);
    if (isfinite(percent) && from != to)
        table_addf(table, "%+.1f %%", percent);
    else
        table_add(table, "");
}

/* The rows of a phase or run, as they are added. */
struct diff_rows {
    struct table *table;
    bool names_phase;
    const char *phase; /* for the next row: empty after the first */
};

/* Adds no row if neither side has the figure. */
static void diff_add_figure_row(struct diff_rows *rows, const char *shown, enum diff_kind kind,
                                const json_t *left, const json_t *right)
{
    if (!left && !right)
        return;
    if (rows->names_phase)
        table_add(rows->table, rows->phase);
    rows->phase = "";
    table_add(rows->table, shown);
    diff_add_figure_cell(rows->table, kind, left);
    diff_add_figure_cell(rows->table, kind, right);
    diff_add_change(rows->table, left, right);
}

static void diff_add_rows(struct table *table, bool names_phase, const char *phase,
                          const json_t *left, const json_t *right)
{
    struct diff_rows rows = {table, names_phase, phase};
    for (size_t i = 0; i < sizeof diff_figures / sizeof diff_figures[0]; i++) {
        const json_t *a = json_object_get(left, diff_figures[i].name);
        const json_t *b = json_object_get(right, diff_figures[i].name);
        if (diff_figures[i].kind != DIFF_METRICS) {
            diff_add_figure_row(&rows, diff_figures[i].shown, diff_figures[i].kind, a, b);
            continue;
        }
        json_t *names = json_object(), *value;
        const char *name;
        (void)json_object_update(names, (json_t *)a); /* each fails if its side has no metrics */
        (void)json_object_update_missing(names, (json_t *)b);
        json_object_foreach(names, name, value) diff_add_figure_row(
            &rows, name, DIFF_NUMBER, json_object_get(a, name), json_object_get(b, name));
        json_decref(names);
    }
}

static void diff_write_figures(const struct cli *cli, const struct diff *diff, struct text *text)
{
    const struct table_column columns[] = {
        {"PHASE", TABLE_LEFT, TABLE_NAME},           {"", TABLE_LEFT, TABLE_WHOLE},
        {diff->left.name, TABLE_RIGHT, TABLE_WHOLE}, {diff->right.name, TABLE_RIGHT, TABLE_WHOLE},
        {"CHANGE", TABLE_RIGHT, TABLE_WHOLE},
    };
    const json_t *left = diff->left.figures, *right = diff->right.figures;
    bool names_phase = address_kind(&diff->left.address) == ADDRESS_WORKFLOW;
    size_t skipped = names_phase ? 0 : 1;
    json_t *phases = json_copy((json_t *)left), *value;
    const char *name;
    struct table table;
    (void)json_object_update_missing(phases, (json_t *)right);
    table_init(&table, columns + skipped, sizeof columns / sizeof columns[0] - skipped);
    json_object_foreach(phases, name, value) diff_add_rows(
        &table, names_phase, name, json_object_get(left, name), json_object_get(right, name));
    if (json_object_size(phases) > 1)
        diff_add_rows(&table, names_phase, "total", diff->left.total, diff->right.total);
    table_write(&table, &cli->out, 0, text);
    json_decref(phases);
}

static void diff_print_json(const struct diff *diff)
{
    json_t *json = json_pack("{s:s, s:s, s:O, s:O, s:O, s:{s:O, s:O}, s:{s:O?, s:O?}}", "left",
                             diff->left.name, "right", diff->right.name, "code", diff->code,
                             "params", diff->params, "spec", diff->spec, "figures", "left",
                             diff->left.figures, "right", diff->right.figures, "total", "left",
                             diff->left.total, "right", diff->right.total);
    client_print_json(json);
    json_decref(json);
}

/* --- The verb --------------------------------------------------------------------------------- */

static void diff_show(const struct cli *cli, struct diff *diff)
{
    struct text text = {0};
    diff->code = json_array();
    diff->params = json_array();
    diff->spec = json_array();
    difference_find("", diff->left.code, diff->right.code, diff->code);
    difference_find("", diff->left.params, diff->right.params, diff->params);
    difference_find("", diff->left.spec, diff->right.spec, diff->spec);
    if (cli->as_json) {
        diff_print_json(diff);
        return;
    }
    diff_write_part(cli, diff, "CODE", diff->code, &text);
    diff_write_part(cli, diff, "PARAM", diff->params, &text);
    diff_write_part(cli, diff, "SPEC", diff->spec, &text);
    if (!text.size)
        text_add(&text, "the same was submitted\n\n");
    diff_write_figures(cli, diff, &text);
    cli_print(&text);
}

int diff_verb(struct cli *cli, char **words)
{
    const struct option_rule rules[] = {
        {"json", 0, NULL, "print what differs, and all figures, as JSON", .flag = &cli->as_json},
        {0},
    };
    struct option_arguments arguments = {.min = 2, .max = 2};
    struct diff diff = {0};
    struct error err;
    int exit_code;
    if (!options_parse(cli, words, rules, &arguments, &exit_code))
        return exit_code;
    if (address_parse(arguments.items[0], &diff.left.address, &err) < 0 ||
        address_parse(arguments.items[1], &diff.right.address, &err) < 0)
        return cli_usage(cli, "%s", err.message);
    if (address_kind(&diff.left.address) != address_kind(&diff.right.address))
        return cli_usage(cli, "compare two workflows, two phases or two runs, not %s and %s",
                         arguments.items[0], arguments.items[1]);
    if (diff_read(cli, &diff.left, &err) < 0 || diff_read(cli, &diff.right, &err) < 0)
        exit_code = cli_fail(&err);
    else
        diff_show(cli, &diff);
    diff_fini(&diff);
    return exit_code;
}
