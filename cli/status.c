/* phasectl status: all workflows, one of them, a phase, or a run. */
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/current.h"
#include "cli/field.h"
#include "cli/format.h"
#include "cli/gpu_view.h"
#include "cli/held.h"
#include "cli/options.h"
#include "cli/phrases.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "cli/view.h"
#include "lib/address.h"
#include "lib/amount.h"
#include "lib/error.h"
#include "lib/protocol/words.h"
#include "lib/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { STATUS_WORKFLOWS_MAX = 50 }; /* more workflows are counted; --all lists them */

/* `all` is whether --all was given. */
static void status_write_all(const struct cli *cli, const json_t *reply, bool all,
                             struct text *text)
{
    static const struct table_column columns[] = {
        {"WORKFLOW", TABLE_RIGHT, TABLE_WHOLE}, {"NAME", TABLE_LEFT, TABLE_NAME},
        {"STATE", TABLE_LEFT, TABLE_WHOLE},     {"PHASE", TABLE_LEFT, TABLE_NAME},
        {"STEP", TABLE_RIGHT, TABLE_WHOLE},     {"ETA", TABLE_RIGHT, TABLE_WHOLE},
        {"AGE", TABLE_RIGHT, TABLE_WHOLE},      {"GPU TIME", TABLE_RIGHT, TABLE_WHOLE},
        {"COST", TABLE_RIGHT, TABLE_WHOLE},     {"NOTE", TABLE_LEFT, TABLE_REST},
    };
    const json_t *workflows = json_object_get(reply, "workflows"), *workflow;
    struct table table;
    double now = (double)time(NULL);
    size_t i;
    table_init(&table, columns, sizeof columns / sizeof columns[0]);
    json_array_foreach(workflows, i, workflow)
        current_add_row(&table, workflow, COLOUR_BOLD, NULL, now);
    if (table.cell_count)
        table_write(&table, &cli->out, 0, text);
    else
        text_add(text, "no workflows; submit one with 'phasectl submit FILE'\n");
    long long rest = field_integer(reply, "total") - (long long)json_array_size(workflows);
    if (rest > 0)
        text_addf(text,
                  all ? "... and %lld more that ended earlier\n"
                      : "... and %lld more: phasectl status --all\n",
                  rest);
}

/* The options of the submission. */
static void status_write_choices(const json_t *workflow, struct text *text)
{
    const json_t *variants = json_object_get(workflow, "variants"), *variant;
    json_t *set = json_object_get(workflow, "set"), *value;
    const char *name, *separator = " with ";
    size_t i;
    json_array_foreach(variants, i, variant)
    {
        text_addf(text, "%s%s", separator, json_string_value(variant));
        separator = ", ";
    }
    json_object_foreach(set, name, value)
    {
        text_addf(text, "%s%s=%s", separator, name, json_string_value(value));
        separator = ", ";
    }
}

/* Which code the workflow runs. `phasectl show` tells more. */
static void status_write_code(const json_t *workflow, struct text *text)
{
    const char *commit = field_text(workflow, "commit"), *branch = field_text(workflow, "branch");
    if (!commit[0])
        return;
    text_addf(text, "\ncode %.12s%s%s%s", commit, branch[0] ? " on " : "", branch,
              json_is_true(json_object_get(workflow, "changed")) ? ", with changes" : "");
    if (field_text(workflow, "snapshot")[0])
        text_addf(text, ", a copy in %s", field_text(workflow, "snapshot"));
}

/* Adds the amounts that are known: "$9.40 and 3.10 GPU hours". */
static void status_add_amount(struct text *text, const char *amount)
{
    text_addf(text, "%s%s", text->size ? " and " : "", amount);
}

/* Adds "at this pace $9.40 when the active runs end, of a budget of $15", in a colour when that is
 * too much. Uses GPU hours if there is no price, or if the budget is in GPU hours. */
static void status_write_projection(const struct terminal *terminal, const json_t *workflow,
                                    struct text *text)
{
    const double amounts[] = {
        [AMOUNT_USD] = field_number(workflow, "projected_cost_usd"),
        [AMOUNT_GPU_HOURS] = field_number(workflow, "projected_gpu_seconds") / 3600,
    };
    struct text spent = {0}, of = {0};
    bool is_too_much = false;
    char buffer[AMOUNT_SIZE];
    for (enum amount i = AMOUNT_USD; i <= AMOUNT_GPU_HOURS; i++) {
        double budget = field_number(json_object_get(workflow, "budget"), amount_key(i));
        if (isnan(amounts[i]) ||
            (i == AMOUNT_GPU_HOURS && !isnan(amounts[AMOUNT_USD]) && isnan(budget)))
            continue;
        status_add_amount(&spent, amount_format_counted(i, amounts[i], budget, buffer));
        if (!isnan(budget))
            status_add_amount(&of, amount_format(i, budget, buffer));
        is_too_much |= amounts[i] > budget; /* false for NaN */
    }
    char *line = text_format("%sat this pace %s when the active runs end%s%s",
                             is_too_much ? "warning: " : "", text_string(&spent),
                             of.size ? ", of a budget of " : "", text_string(&of));
    if (spent.size) {
        text_add(text, "\n");
        terminal_colour(terminal, text, is_too_much ? COLOUR_YELLOW : COLOUR_PLAIN, line);
        text_add(text, "\n");
    }
    free(line);
    text_fini(&spent);
    text_fini(&of);
}

static void status_write_workflow(const struct cli *cli, const json_t *workflow, struct text *text)
{
    char buffer[FORMAT_SIZE];
    const char *state = current_state(workflow);
    text_addf(text, "workflow %lld  %s  ", field_integer(workflow, "workflow"),
              field_text(workflow, "name"));
    terminal_colour(&cli->out, text, view_colour(state), state);
    text_addf(text, "  submitted %s from %s",
              format_time(field_number(workflow, "submitted"), time(NULL), buffer),
              field_text(workflow, "file"));
    status_write_choices(workflow, text);
    status_write_code(workflow, text);
    text_add(text, "\n\n");
    view_phases(&cli->out, workflow, (double)time(NULL), text);
    held_write(&cli->out, workflow, text);
    status_write_projection(&cli->out, workflow, text);
}

static void status_add_wait(struct table *table, const json_t *run)
{
    struct text text = {0};
    if (wait_write(run, (double)time(NULL), &text))
        table_add_named(table, "waits", text_string(&text));
    text_fini(&text);
}

static void status_add_metrics(struct table *table, const json_t *phase)
{
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(phase, "metrics"), name, value)
    {
        char number[FORMAT_SIZE];
        table_add_named(table, name, format_number(field_as_number(value), number));
    }
}

/* What the GPUs of the run do, or did last. Says nothing if the daemon does not know. */
static void status_add_gpus(struct cli *cli, struct table *table, const json_t *run)
{
    json_t *reply;
    if (client_get_part_of(cli, run, "/gpus", &reply, NULL) < 0)
        return;
    view_add_named(table, "a step takes", reply, gpu_view_step_time);
    view_add_named(table, "GPUs", reply, gpu_view_summary);
    json_decref(reply);
}

static void status_add_projection(struct table *table, const json_t *phase)
{
    double usd = field_number(phase, "projected_cost_usd");
    double gpu_s = field_number(phase, "projected_gpu_seconds");
    char buffer[FORMAT_SIZE];
    if (!isnan(gpu_s))
        table_add_named(table, "GPU time at its end", format_duration(gpu_s, buffer));
    if (!isnan(usd))
        table_add_named(table, "cost at its end", format_cost(usd, buffer));
}

static void status_write_phase(struct cli *cli, const struct address *address, const json_t *phase,
                               struct text *text)
{
    char buffer[FORMAT_SIZE], name[ADDRESS_TEXT_SIZE];
    const char *state = view_state(phase);
    struct table table;
    text_addf(text, "phase %s  ", address_text(address, name));
    terminal_colour(&cli->out, text, view_colour(state), state);
    text_add(text, "\n");
    table_init(&table, table_names, TABLE_NAMES_COLUMNS);
    table_add_named(&table, "reason", field_text(phase, "reason"));
    table_add_named(&table, "warning", field_text(phase, "warning"));
    status_add_wait(&table, json_object_get(phase, "run"));
    view_add_named(&table, "by GPU", json_object_get(phase, "run"), view_hardware);
    view_add_named(&table, members_is_matrix(phase) ? "members" : "step", phase, view_progress);
    if (!isnan(field_number(phase, "eta_s")))
        table_add_named(&table, "time left", format_duration(field_number(phase, "eta_s"), buffer));
    status_add_metrics(&table, phase);
    status_add_gpus(cli, &table, json_object_get(phase, "run"));
    const json_t *total = members_total(phase);
    table_add_named(&table, "GPU time",
                    format_duration(field_number(total, "gpu_seconds"), buffer));
    table_add_named(&table, "cost", format_cost(field_number(total, "cost_usd"), buffer));
    status_add_projection(&table, phase);
    table_add_named(&table, "best", field_text(phase, "best"));
    table_add_named(&table, "promotion", field_text(phase, "promote"));
    table_add_named(&table, "promoted", field_text(phase, "promoted"));
    table_add_named(&table, "output", field_text(phase, "out"));
    table_add_named(&table, "checkpoint", field_text(phase, "checkpoint"));
    view_add_named(&table, "suspect", phase, suspect_note);
    table_write(&table, &cli->out, 2, text);
    if (members_is_matrix(phase)) {
        text_add(text, "\n");
        view_members(&cli->out, phase, (double)time(NULL), text);
    }
    if (json_array_size(json_object_get(phase, "runs"))) {
        text_add(text, "\n");
        view_runs(&cli->out, json_object_get(phase, "runs"), (double)time(NULL), text);
    }
}

static void status_write_run(struct cli *cli, const json_t *run, struct text *text)
{
    static const char *const rows[][2] = {
        {"outcome", "outcome"},     {"cause", "cause"},           {"message", "message"},
        {"job_state", "job state"}, {"job_reason", "job reason"}, {"resume", "resumes from"},
        {"run_dir", "folder"},
    };
    double now = (double)time(NULL), exit_code = field_number(run, "exit_code");
    char buffer[FORMAT_SIZE];
    struct table table;
    const char *state = field_text(run, "state");
    text_addf(text, "run %s  ", field_text(run, "address"));
    terminal_colour(&cli->out, text, view_colour(state), state);
    text_add(text, "\n");
    table_init(&table, table_names, TABLE_NAMES_COLUMNS);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        table_add_named(&table, rows[i][1], field_text(run, rows[i][0]));
    status_add_wait(&table, run);
    view_add_named(&table, "by GPU", run, view_hardware);
    if (!isnan(exit_code) && field_run_state(run) == RUN_ENDED)
        table_add_named(&table, "exit code", format_number(exit_code, buffer));
    table_add_named(&table, "job", format_number(field_number(run, "job_id"), buffer));
    table_add_named(&table, "started",
                    format_time(field_number(run, "started"), (time_t)now, buffer));
    table_add_named(&table, "took", format_duration(view_run_duration(run, now), buffer));
    status_add_gpus(cli, &table, run);
    table_write(&table, &cli->out, 2, text);
}

/* What stops all work. If the daemon does not answer, an earlier message has said so. */
static void status_write_slurm(struct cli *cli, struct text *text)
{
    json_t *ping;
    if (client_ping(cli, &ping, NULL) < 0)
        return;
    view_trouble(&cli->out, ping, text);
    json_decref(ping);
}

/* Prints an address, or all workflows (workflow 0). `context` is a bool: also those that ended long
 * ago. */
static int status_one(struct cli *cli, const struct address *address, const void *context)
{
    bool all = *(const bool *)context;
    struct error err;
    struct text text = {0};
    json_t *json;
    int status = address->workflow
                     ? client_get_address(cli, address, &json, &err)
                     : client_get(cli, &json, &err, "/v1/workflows?brief=%d&%s=%d", !cli->as_json,
                                  all ? "all" : "limit", all ? 1 : STATUS_WORKFLOWS_MAX);
    if (status < 0)
        return cli_fail(&err);
    if (cli->as_json)
        return client_take_answer(cli, json, &text);
    if (!address->workflow)
        status_write_all(cli, json, all, &text);
    else if (address_kind(address) == ADDRESS_WORKFLOW)
        status_write_workflow(cli, json, &text);
    else if (address_kind(address) == ADDRESS_PHASE)
        status_write_phase(cli, address, json, &text);
    else
        status_write_run(cli, json, &text);
    status_write_slurm(cli, &text);
    return client_take_answer(cli, json, &text);
}

int status_verb(struct cli *cli, char **words)
{
    bool all = false;
    const struct option_rule rules[] = {
        {"json", 0, NULL, "print the daemon's answer", .flag = &cli->as_json},
        {"all", 'a', NULL, "show also workflows that ended more than a day ago", .flag = &all},
        {0},
    };
    return options_addresses(cli, words, rules, 0, status_one, &all);
}
