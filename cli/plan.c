/* phasectl plan: what would happen to a workflow if it were submitted now. */
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/field.h"
#include "cli/format.h"
#include "cli/options.h"
#include "cli/source.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "lib/amount.h"
#include "lib/error.h"
#include "lib/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

/* --- The table -------------------------------------------------------------------------------- */

/* Adds the partitions that the job would go to: "preempt (3 of 12 idle)". */
static void plan_add_place(struct table *table, const json_t *phase)
{
    struct text text = {0};
    const json_t *partition;
    size_t i;
    json_array_foreach(json_object_get(phase, "partitions"), i, partition)
    {
        if (field_is_true(partition, "wanted"))
            text_addf(&text, "%s%s (%lld of %lld idle)", text.size ? ", " : "",
                      field_text(partition, "partition"), field_integer(partition, "idle"),
                      field_integer(partition, "nodes"));
    }
    if (*field_text(phase, "beside"))
        text_addf(&text, "in the job of %s", field_text(phase, "beside"));
    bool is_missing = *field_text(phase, "missing") != '\0';
    table_add_in(table, is_missing ? COLOUR_RED : COLOUR_PLAIN,
                 text.size                           ? text_string(&text)
                 : field_is_true(phase, "is_matrix") ? "(its members)"
                                                     : "nowhere");
    text_fini(&text);
}

static void plan_add_gpus(struct table *table, const json_t *phase)
{
    long long nodes = field_integer(phase, "nodes"), gpus = field_integer(phase, "gpus");
    const char *type = field_text(phase, "gpu_type");
    char *text =
        gpus == 0 ? text_format("-") : text_format("%s%s%lld", type, *type ? ":" : "", gpus);
    if (field_is_true(phase, "is_matrix"))
        table_add(table, "-");
    else if (nodes > 1)
        table_addf(table, "%lld x %s", nodes, text);
    else
        table_add(table, text);
    free(text);
}

/* Adds "at once", "14:05:00", "not known" or "-". Returns the colour. */
static enum colour plan_add_when(struct text *text, const json_t *start, time_t now)
{
    char buffer[FORMAT_SIZE];
    double start_s = field_number(start, "start");
    if (isnan(start_s)) {
        bool is_refused = field_is_true(start, "refused");
        text_add(text, is_refused                                 ? "never"
                       : *field_text(start, "start_message") != 0 ? "not known"
                                                                  : "-");
        return COLOUR_PLAIN;
    }
    bool is_now = start_s <= (double)now + 1;
    text_add(text, is_now ? "at once" : format_time(start_s, now, buffer));
    return is_now ? COLOUR_GREEN : COLOUR_YELLOW;
}

/* Adds when Slurm would start the job, for each of its alternative GPUs. */
static void plan_add_start(struct table *table, const json_t *phase, time_t now)
{
    struct text text = {0}, first = {0};
    const json_t *alternatives = json_object_get(phase, "alternatives"), *start;
    enum colour colour = plan_add_when(&first, phase, now);
    size_t i;
    json_array_foreach(alternatives, i, start)
    {
        text_addf(&text, "%s%s ", i ? ", " : "", field_text(start, "gpu_type"));
        (void)plan_add_when(&text, start, now); /* the first start gives the colour */
    }
    table_add_in(table, colour, text_string(text.size ? &text : &first));
    text_fini(&text);
    text_fini(&first);
}

/* Adds "0.5 to 1 hours, $49 to $98"; nothing if nothing is expected. */
static void plan_add_expected(const json_t *expect, struct text *text)
{
    for (int i = AMOUNT_COUNT - 1; i >= 0; i--) { /* time first, as in the rest of the plan */
        const json_t *range = json_object_get(expect, amount_key((enum amount)i));
        char buffer[AMOUNT_SHARE_SIZE];
        if (range)
            text_addf(text, "%s%s", text->size ? ", " : "",
                      amount_format_range((enum amount)i,
                                          json_number_value(json_array_get(range, 0)),
                                          json_number_value(json_array_get(range, 1)), buffer));
    }
}

static void plan_add_cell_expected(struct table *table, const json_t *phase)
{
    struct text text = {0};
    plan_add_expected(json_object_get(phase, "expect"), &text);
    table_add(table, text.size ? text_string(&text) : "-");
    text_fini(&text);
}

/* Whether the phase may take more than its `time`: it goes on in further jobs, and no similar phase
 * shows how many. */
static bool plan_is_open(const json_t *phase)
{
    return field_is_true(phase, "has_checkpoint") && !field_is_true(phase, "is_matrix") &&
           field_integer(phase, "similar") == 0;
}

static void plan_write_table(const struct cli *cli, const json_t *phases, struct text *text)
{
    static const struct table_column columns[] = {
        {"PHASE", TABLE_LEFT, TABLE_WHOLE},    {"GPUS", TABLE_LEFT, TABLE_WHOLE},
        {"WHERE", TABLE_LEFT, TABLE_REST},     {"START", TABLE_LEFT, TABLE_WHOLE},
        {"TIME", TABLE_RIGHT, TABLE_WHOLE},    {"COST", TABLE_RIGHT, TABLE_WHOLE},
        {"EXPECTED", TABLE_LEFT, TABLE_WHOLE},
    };
    struct table table;
    const json_t *phase;
    size_t i;
    time_t now = time(NULL);
    char buffer[FORMAT_SIZE];
    bool has_expected = field_any_expects(phases);
    table_init(&table, columns, sizeof columns / sizeof *columns - (has_expected ? 0 : 1));
    json_array_foreach(phases, i, phase)
    {
        bool is_open = plan_is_open(phase);
        bool is_guessed = field_integer(phase, "similar") == 0;
        const char *most = is_open ? "" : is_guessed ? "<= " : "~";
        bool has_rungs = is_guessed && field_integer(phase, "rungs") > 1;
        const char *unit = is_open ? " a job" : has_rungs ? " a rung" : "";
        bool is_matrix = field_is_true(phase, "is_matrix");
        double usd = field_number(phase, "cost_usd");
        table_add(&table, field_text(phase, "phase"));
        plan_add_gpus(&table, phase);
        plan_add_place(&table, phase);
        plan_add_start(&table, phase, now);
        table_addf(&table, "%s%s%s", is_matrix ? "" : most,
                   format_duration(is_matrix ? NAN : field_number(phase, "seconds"), buffer), unit);
        table_addf(&table, "%s%s%s", isnan(usd) ? "" : most, format_cost(usd, buffer),
                   isnan(usd) ? "" : unit);
        if (has_expected)
            plan_add_cell_expected(&table, phase);
    }
    table_write(&table, &cli->out, 0, text);
}

/* --- Warnings and sums ------------------------------------------------------------------------ */

enum { PLAN_NAMES_MAX = 3 }; /* further phases are only counted */

/* What a line about phases says. Phases share a line if they have the same message of one kind. */
enum plan_line {
    PLAN_MISSING,
    PLAN_REFUSED,     /* Slurm refuses the job */
    PLAN_NO_START,    /* Slurm knows no start of the job */
    PLAN_ALTERNATIVE, /* Slurm refuses one of the alternative GPUs, and takes others */
    PLAN_DANGER,
};

static const struct {
    enum colour colour;
    const char *word;
} plan_lines[] = {
    [PLAN_MISSING] = {COLOUR_RED, "error:"},
    [PLAN_REFUSED] = {COLOUR_RED, "error: Slurm refuses"},
    [PLAN_NO_START] = {COLOUR_YELLOW, "no start is known:"},
    [PLAN_ALTERNATIVE] = {COLOUR_YELLOW, "warning:"},
    [PLAN_DANGER] = {COLOUR_YELLOW, "warning:"},
};

/* NULL: Slurm does not refuse this alternative. The caller frees the text. */
static char *plan_refusal(const json_t *start)
{
    if (!field_is_true(start, "refused"))
        return NULL;
    return text_format("Slurm refuses %s: %s", field_text(start, "gpu_type"),
                       field_text(start, "start_message"));
}

static bool plan_has_refusal(const json_t *phase, const char *said)
{
    const json_t *start;
    size_t i;
    bool has_one = false;
    json_array_foreach(json_object_get(phase, "alternatives"), i, start)
    {
        char *refusal = plan_refusal(start);
        has_one = has_one || (refusal && text_equal(refusal, said));
        free(refusal);
    }
    return has_one;
}

static bool plan_says(const json_t *phase, enum plan_line line, const char *said)
{
    bool is_refused = field_is_true(phase, "refused");
    switch (line) {
    case PLAN_MISSING:
        return text_equal(field_text(phase, "missing"), said);
    case PLAN_REFUSED:
    case PLAN_NO_START:
        return is_refused == (line == PLAN_REFUSED) &&
               text_equal(field_text(phase, "start_message"), said);
    case PLAN_ALTERNATIVE:
        return !is_refused && plan_has_refusal(phase, said);
    case PLAN_DANGER:
        return field_has_text(json_object_get(phase, "dangers"), said);
    }
    return false;
}

/* Adds the phases that have the same message: "train, convert and 3 more". */
static void plan_add_names(const json_t *phases, size_t index, enum plan_line line,
                           const char *said, struct text *text)
{
    size_t count = 1;
    text_add(text, field_text(json_array_get(phases, index), "phase"));
    for (size_t i = index + 1; i < json_array_size(phases); i++) {
        const json_t *phase = json_array_get(phases, i);
        if (plan_says(phase, line, said) && count++ < PLAN_NAMES_MAX)
            text_addf(text, ", %s", field_text(phase, "phase"));
    }
    if (count > PLAN_NAMES_MAX)
        text_addf(text, " and %zu more", count - PLAN_NAMES_MAX);
}

/* Adds one line for all phases with this message, when `index` is the first of them. */
static void plan_write_line(const struct cli *cli, const json_t *phases, size_t index,
                            enum plan_line line, const char *said, struct text *text)
{
    for (size_t i = 0; i < index; i++)
        if (plan_says(json_array_get(phases, i), line, said))
            return;
    if (!*said)
        return;
    terminal_colour(&cli->out, text, plan_lines[line].colour, plan_lines[line].word);
    text_add(text, " ");
    plan_add_names(phases, index, line, said, text);
    text_add(text, ": ");
    terminal_add_cut(&cli->out, text, said, 1000);
    text_add(text, "\n");
}

/* Warns of alternative GPUs that Slurm refuses, if it takes others. */
static void plan_write_refused(const struct cli *cli, const json_t *phases, size_t index,
                               struct text *text)
{
    const json_t *phase = json_array_get(phases, index), *start;
    size_t i;
    json_array_foreach(json_object_get(phase, "alternatives"), i, start)
    {
        char *said = field_is_true(phase, "refused") ? NULL : plan_refusal(start);
        if (said)
            plan_write_line(cli, phases, index, PLAN_ALTERNATIVE, said, text);
        free(said);
    }
}

static void plan_write_dangers(const struct cli *cli, const json_t *plan, struct text *text)
{
    const json_t *phases = json_object_get(plan, "phases"), *phase, *danger;
    size_t i, j;
    json_array_foreach(phases, i, phase)
    {
        const char *message = field_text(phase, "start_message");
        bool is_refused = field_is_true(phase, "refused");
        plan_write_line(cli, phases, i, PLAN_MISSING, field_text(phase, "missing"), text);
        plan_write_line(cli, phases, i, is_refused ? PLAN_REFUSED : PLAN_NO_START, message, text);
        plan_write_refused(cli, phases, i, text);
        json_array_foreach(json_object_get(phase, "dangers"), j, danger) if (json_is_string(danger))
            plan_write_line(cli, phases, i, PLAN_DANGER, json_string_value(danger), text);
    }
    json_array_foreach(json_object_get(plan, "dangers"), i, danger)
    {
        terminal_colour(&cli->out, text, COLOUR_YELLOW, "warning: ");
        terminal_add_cut(&cli->out, text, json_is_string(danger) ? json_string_value(danger) : "",
                         1000);
        text_add(text, "\n");
    }
}

static void plan_write_sum_expected(const json_t *expect, struct text *text)
{
    struct text expected = {0};
    plan_add_expected(expect, &expected);
    if (expected.size)
        text_addf(text, " (expected: %s)", text_string(&expected));
    text_fini(&expected);
}

/* Slurm does not know that a phase waits for another phase. */
static void plan_write_note(const json_t *plan, struct text *text)
{
    const json_t *phase;
    size_t i, starts = 0;
    json_array_foreach(json_object_get(plan, "phases"), i, phase)
    {
        if (!isnan(field_number(phase, "start")))
            starts++;
    }
    if (starts > 1)
        text_add(
            text,
            "START assumes that the job is submitted now, and not after the phases before it\n");
}

/* Adds "train runs in /images/train.sif (runtime: auto)" for each phase with a container. */
static void plan_write_containers(const json_t *plan, struct text *text)
{
    const json_t *phase;
    size_t i;
    json_array_foreach(json_object_get(plan, "phases"), i, phase)
    {
        const json_t *container = json_object_get(phase, "container");
        if (container)
            text_addf(text, "%s runs in %s (runtime: %s)\n", field_text(phase, "phase"),
                      field_text(container, "image"), field_text(container, "runtime"));
    }
}

/* Adds "at most 2h00m, without the queue, 16h00m of GPU time, $98.00", or that the sum is unknown.
 * A phase can take longer than the mean of similar phases. */
static void plan_write_sum(const json_t *plan, struct text *text)
{
    const json_t *phase;
    size_t i, guessed = 0, measured = 0, open = 0;
    char buffer[FORMAT_SIZE];
    double usd = field_number(plan, "cost_usd");
    json_array_foreach(json_object_get(plan, "phases"), i, phase)
    {
        open += plan_is_open(phase);
        measured += field_integer(phase, "similar") > 0;
        guessed += !field_is_true(phase, "is_matrix") && !plan_is_open(phase) &&
                   field_integer(phase, "similar") == 0;
    }
    if (open) {
        text_add(text, "the sum is unknown: phases with a checkpoint may need several jobs");
    } else {
        text_addf(text, "%s %s, without the queue", measured ? "about" : "at most",
                  format_duration(field_number(plan, "seconds"), buffer));
        text_addf(text, ", %s of GPU time",
                  format_duration(field_number(plan, "gpu_seconds"), buffer));
        if (!isnan(usd))
            text_addf(text, ", %s", format_cost(usd, buffer));
    }
    plan_write_sum_expected(json_object_get(plan, "expect"), text);
    text_add(text, guessed ? "; <= means `time`, because no similar phase has succeeded yet\n"
                   : open  ? "\n"
                           : ", like similar phases\n");
}

/* --- The verb --------------------------------------------------------------------------------- */

/* Returns -EINVAL and sets `ret_problems` when the spec has problems. */
static int plan_ask(struct cli *cli, const struct source *source, const json_t *set,
                    const json_t *variants, json_t **ret_plan, json_t **ret_problems,
                    struct error *err)
{
    json_t *workdir = client_workdir(err);
    if (!workdir)
        return -EINVAL;
    json_t *body =
        json_pack("{s:s, s:s%, s:O, s:O, s:o}", "file", source->name, "spec", source->text,
                  source->size, "set", set, "with", variants, "workdir", workdir);
    if (!body)
        return error_set_at(err, -EINVAL, source->name, 0, 0,
                            "cannot be sent: it is not UTF-8 text");
    int status = client_post(cli, "/v1/plan", body, ret_plan, ret_problems, err);
    json_decref(body);
    return status;
}

static int plan_show(const struct cli *cli, const struct source *source, const json_t *plan)
{
    source_place_json(source, json_object_get(plan, "warnings"));
    if (cli->as_json) {
        client_print_json(plan);
    } else {
        struct text text = {0};
        problems_print(source->name, json_object_get(plan, "warnings"));
        plan_write_table(cli, json_object_get(plan, "phases"), &text);
        plan_write_note(plan, &text);
        plan_write_containers(plan, &text);
        plan_write_sum(plan, &text);
        plan_write_dangers(cli, plan, &text);
        cli_print(&text);
    }
    return field_is_true(plan, "fits") ? CLI_OK : CLI_FAILED;
}

static int plan_file(struct cli *cli, const char *file, const struct source_words *given)
{
    struct source source;
    struct error err;
    int exit_code;
    json_t *plan = NULL, *problems = NULL, *workflow, *set = source_words_set(cli, given);
    if (!set)
        return CLI_USAGE;
    if (source_read(file, given, &source, &err) < 0) {
        json_decref(set);
        return cli_fail(&err);
    }
    bool is_good = probe_print(&source, &given->overrides, &workflow);
    json_decref(workflow);
    if (plan_ask(cli, &source, set, given->overrides.variants, &plan, &problems, &err) < 0) {
        source_place_json(&source, problems);
        problems_print(source.name, problems);
        exit_code = cli_fail(&err);
    } else {
        exit_code = plan_show(cli, &source, plan);
        exit_code = is_good ? exit_code : CLI_FAILED;
    }
    json_decref(set);
    json_decref(plan);
    json_decref(problems);
    source_fini(&source);
    return exit_code;
}

int plan_verb(struct cli *cli, char **words)
{
    struct source_words given = {0};
    const struct option_rule rules[] = {
        source_set_rule(&given),
        source_with_rule(&given),
        {"json", 0, NULL, "print the API's answer", .flag = &cli->as_json},
        {0},
    };
    struct option_arguments arguments = {.min = 1, .max = 1, .has_rest = true};
    int exit_code;
    if (source_words_read(cli, words, rules, &arguments, &given, &exit_code))
        exit_code = plan_file(cli, arguments.items[0], &given);
    source_words_fini(&given);
    return exit_code;
}
