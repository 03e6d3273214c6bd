/* phasectl cost, phasectl budget: what was spent, and how much may be spent. */
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/field.h"
#include "cli/format.h"
#include "cli/held.h"
#include "cli/options.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "lib/address.h"
#include "lib/amount.h"
#include "lib/error.h"
#include "lib/text.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What a workflow, a phase or all of them spent: dollars, and time by what it was used for. */
struct cost_sum {
    double gpu_s, usd, useful_s, waiting_s, lost_s;
    double seconds, paid_s; /* of all runs; of all allocations */
    bool has_usd;
};

static void cost_add(struct cost_sum *sum, const json_t *row)
{
    const char *cause = field_text(row, "cause");
    double gpu_s = field_number(row, "gpu_seconds"), usd = field_number(row, "cost_usd");
    double paid_s = field_number(row, "paid_seconds");
    sum->gpu_s += gpu_s;
    sum->seconds += field_number(row, "seconds");
    sum->paid_s += paid_s;
    *(text_equal(cause, "useful")    ? &sum->useful_s
      : text_equal(cause, "waiting") ? &sum->waiting_s
                                     : &sum->lost_s) += paid_s;
    if (!isnan(usd)) {
        sum->usd += usd;
        sum->has_usd = true;
    }
}

/* The amounts that a budget or `expect` can have. NaN: no price is known. */
static void cost_amounts(const struct cost_sum *sum, double amounts[AMOUNT_COUNT])
{
    amounts[AMOUNT_USD] = sum->has_usd ? sum->usd : NAN;
    amounts[AMOUNT_GPU_HOURS] = sum->gpu_s / 3600;
    amounts[AMOUNT_HOURS] = sum->paid_s / 3600;
}

/* --- What is expected ------------------------------------------------------------------------- */

/* Adds two cells: "$245 to $490", and the share of the upper end that is spent. */
static void cost_add_expected(struct table *table, const json_t *range, enum amount amount,
                              double spent)
{
    double from = json_number_value(json_array_get(range, 0));
    double to = json_number_value(json_array_get(range, 1));
    char text[AMOUNT_SHARE_SIZE];
    if (!range) {
        table_add(table, "-");
        table_add(table, "-");
        return;
    }
    table_add(table, amount_format_range(amount, from, to, text));
    if (isnan(spent))
        table_add(table, "-");
    else
        table_addf_in(table, spent > to ? COLOUR_YELLOW : COLOUR_PLAIN, "%.0f %%",
                      100 * spent / to);
}

/* Adds a cell: "$0.02", "7.0s", "27s of GPUs". */
static void cost_add_took(struct table *table, enum amount amount, double took)
{
    char buffer[FORMAT_SIZE];
    if (amount == AMOUNT_USD)
        table_add_cost(table, took);
    else
        table_addf(table, "%s%s", format_duration(took * 3600, buffer),
                   amount == AMOUNT_GPU_HOURS ? " of GPUs" : "");
}

/* A row for each amount that is expected of each phase, and of the whole workflow. */
static void cost_write_expected(const struct cli *cli, const json_t *list, const char *phase,
                                struct text *text)
{
    static const struct table_column columns[] = {
        {"PHASE", TABLE_LEFT, TABLE_NAME},
        {"TOOK", TABLE_RIGHT, TABLE_WHOLE},
        {"EXPECTED", TABLE_LEFT, TABLE_WHOLE},
        {"USED", TABLE_RIGHT, TABLE_WHOLE},
    };
    struct table table;
    const json_t *one;
    size_t i;
    table_init(&table, columns, sizeof columns / sizeof *columns);
    json_array_foreach((json_t *)list, i, one)
    {
        const char *name = field_text(one, "phase");
        for (enum amount j = 0; j < AMOUNT_COUNT; j++) {
            const json_t *range = json_object_get(json_object_get(one, "expect"), amount_key(j));
            double spent = field_number(one, amount_key(j));
            if (!range || (*phase && !text_equal(phase, name)))
                continue;
            table_add_in(&table, *name ? COLOUR_PLAIN : COLOUR_BOLD, *name ? name : "total");
            cost_add_took(&table, j, spent);
            cost_add_expected(&table, range, j, spent);
        }
    }
    if (table.cell_count > 0) {
        text_add(text, "\n");
        table_write(&table, &cli->out, 0, text);
    }
    table_fini(&table);
}

/* --- What was spent --------------------------------------------------------------------------- */

static void cost_add_part(struct table *table, double part_s, double all_s)
{
    if (all_s > 0)
        table_addf(table, "%.0f %%", 100 * part_s / all_s);
    else
        table_add(table, "-");
}

static void cost_add_row(struct table *table, const char *first, const char *second,
                         const struct cost_sum *sum)
{
    table_add(table, first);
    table_add(table, second);
    table_add_duration(table, sum->gpu_s);
    table_add_cost(table, sum->has_usd ? sum->usd : NAN);
    cost_add_part(table, sum->useful_s, sum->paid_s);
    cost_add_part(table, sum->lost_s, sum->paid_s);
    cost_add_part(table, sum->waiting_s, sum->paid_s);
}

/* The first amount that is expected of a workflow and known: dollars if there is a price. */
static void cost_add_first_expected(struct table *table, const json_t *expect,
                                    const struct cost_sum *sum)
{
    double amounts[AMOUNT_COUNT];
    enum amount first = 0;
    cost_amounts(sum, amounts);
    while (first < AMOUNT_COUNT - 1 &&
           (isnan(amounts[first]) || !json_object_get(expect, amount_key(first))))
        first++;
    cost_add_expected(table, json_object_get(expect, amount_key(first)), first, amounts[first]);
}

/* A row for each workflow. `expect` is about whole workflows, so a month (a part) leaves it out. */
static void cost_write_all(const struct cli *cli, const json_t *costs, bool is_part,
                           struct text *text)
{
    static const struct cost_sum nothing = {0};
    static const struct table_column columns[] = {
        {"WORKFLOW", TABLE_RIGHT, TABLE_WHOLE}, {"NAME", TABLE_LEFT, TABLE_REST},
        {"GPU TIME", TABLE_RIGHT, TABLE_WHOLE}, {"COST", TABLE_RIGHT, TABLE_WHOLE},
        {"USEFUL", TABLE_RIGHT, TABLE_WHOLE},   {"LOST", TABLE_RIGHT, TABLE_WHOLE},
        {"WAITING", TABLE_RIGHT, TABLE_WHOLE},  {"EXPECTED", TABLE_LEFT, TABLE_WHOLE},
        {"USED", TABLE_RIGHT, TABLE_WHOLE},
    };
    bool has_expected = !is_part && field_any_expects(costs);
    size_t column_count = sizeof columns / sizeof *columns - (has_expected ? 0 : 2);
    struct cost_sum sum = {0}, total = {0};
    struct table table;
    size_t count = json_array_size(costs), workflows = 0;
    table_init(&table, columns, column_count);
    for (size_t i = 0; i < count; i++) {
        const json_t *row = json_array_get(costs, i), *next = json_array_get(costs, i + 1);
        long long workflow = field_integer(row, "workflow");
        cost_add(&sum, row);
        cost_add(&total, row);
        if (next && field_integer(next, "workflow") == workflow)
            continue;
        char *number = text_format("%lld", workflow);
        cost_add_row(&table, number, field_text(row, "name"), &sum);
        if (has_expected)
            cost_add_first_expected(&table, json_object_get(row, "expect"), &sum);
        free(number);
        sum = (struct cost_sum){0};
        workflows++;
    }
    if (workflows > 1)
        cost_add_row(&table, "total", "", &total);
    if (workflows > 1 && has_expected)
        cost_add_first_expected(&table, NULL, &nothing);
    table_write(&table, &cli->out, 0, text);
}

/* "$7.02 of $500 (1 %), ...". Without a price, the dollars of GPU time are unknown. */
static void cost_write_budget(const json_t *budget, const struct cost_sum *sum, struct text *text)
{
    double spent[AMOUNT_COUNT];
    cost_amounts(sum, spent);
    const char *between = "budget: ";
    for (enum amount i = 0; i < AMOUNT_COUNT; i++) {
        double limit = json_number_value(json_object_get(budget, amount_key(i)));
        char share[AMOUNT_SHARE_SIZE], all[AMOUNT_SIZE];
        if (limit <= 0)
            continue;
        if (isnan(spent[i]) && sum->gpu_s > 0) {
            text_addf(text, "%s%s (the cost is unknown)", between, amount_format(i, limit, all));
        } else {
            double known = isnan(spent[i]) ? 0 : spent[i];
            text_addf(text, "%s%s (%.0f %%)", between, amount_format_share(i, known, limit, share),
                      100 * known / limit);
        }
        between = ", ";
    }
    text_add(text, *between == ',' ? "\n" : "the workflow has no budget\n");
}

/* Adds the row to the sum of its phase and cause. */
static void cost_fold_row(json_t *folded, const json_t *row, const char *phase)
{
    json_t *sum = NULL, *one;
    size_t i;
    json_array_foreach(folded, i, one)
    {
        if (text_equal(field_text(one, "phase"), phase) &&
            text_equal(field_text(one, "cause"), field_text(row, "cause")))
            sum = one;
    }
    if (!sum) {
        sum = json_copy((json_t *)row);
        (void)json_object_set_new(sum, "phase", json_string(phase));
        (void)json_array_append_new(folded, sum);
        return;
    }
    static const char *const names[] = {"seconds", "paid_seconds", "gpu_seconds", "cost_usd"};
    for (size_t at = 0; at < sizeof names / sizeof *names; at++) {
        double amount = field_number(row, names[at]), before = field_number(sum, names[at]);
        if (!isnan(amount))
            (void)json_object_set_new(sum, names[at],
                                      json_real(isnan(before) ? amount : before + amount));
    }
}

/* Sums the rows of a phase, or of the members of a matrix. If all phases are shown, members count
 * in the row of their matrix. */
static json_t *cost_fold(const json_t *costs, const char *phase)
{
    json_t *folded = json_array();
    const json_t *row;
    size_t i;
    json_array_foreach(costs, i, row)
    {
        const char *name = field_text(row, "phase");
        char *matrix = text_format("%.*s", (int)strcspn(name, "."), name); /* of sweep.12 */
        if (!*phase)
            cost_fold_row(folded, row, matrix);
        else if (text_equal(phase, name) || text_equal(phase, matrix))
            cost_fold_row(folded, row, name);
        free(matrix);
    }
    return folded;
}

/* A row for each phase and each use of its time. The budget is for the whole workflow, so a phase
 * and a month (a part) leave it out. */
static void cost_write_one(const struct cli *cli, const json_t *costs, const char *phase,
                           bool is_part, struct text *text)
{
    static const struct table_column columns[] = {
        {"PHASE", TABLE_LEFT, TABLE_NAME},  {"SPENT ON", TABLE_LEFT, TABLE_WHOLE},
        {"TIME", TABLE_RIGHT, TABLE_WHOLE}, {"GPU TIME", TABLE_RIGHT, TABLE_WHOLE},
        {"COST", TABLE_RIGHT, TABLE_WHOLE}, {"SHARE", TABLE_RIGHT, TABLE_WHOLE},
    };
    struct cost_sum total = {0};
    struct table table;
    const json_t *row;
    size_t i;
    json_t *folded = cost_fold(costs, phase);
    json_array_foreach(folded, i, row) cost_add(&total, row);
    table_init(&table, columns, sizeof columns / sizeof *columns);
    json_array_foreach(folded, i, row)
    {
        double seconds = field_number(row, "seconds");
        table_add(&table, field_text(row, "phase"));
        table_add(&table, field_text(row, "cause"));
        table_add_duration(&table, seconds);
        table_add_duration(&table, field_number(row, "gpu_seconds"));
        table_add_cost(&table, field_number(row, "cost_usd"));
        cost_add_part(&table, field_number(row, "paid_seconds"), total.paid_s);
    }
    table_add_in(&table, COLOUR_BOLD, "total");
    table_add(&table, "");
    table_add_duration(&table, total.seconds);
    table_add_duration(&table, total.gpu_s);
    table_add_cost(&table, total.has_usd ? total.usd : NAN);
    table_add(&table, "");
    table_write(&table, &cli->out, 0, text);
    json_decref(folded);
    if (!*phase && !is_part)
        cost_write_budget(json_object_get(json_array_get(costs, 0), "budget"), &total, text);
}

/* The first second of a month such as `2026-11`, and of the next month, in local time. */
static bool cost_month(const char *text, long long *ret_since, long long *ret_until)
{
    struct tm tm = {.tm_mday = 1, .tm_isdst = -1};
    char end;
    if (sscanf(text, "%4d-%2d%c", &tm.tm_year, &tm.tm_mon, &end) != 2 || tm.tm_year < 1970 ||
        tm.tm_mon < 1 || tm.tm_mon > 12)
        return false;
    tm.tm_year -= 1900;
    tm.tm_mon--;
    struct tm next = tm;
    next.tm_mon++;
    *ret_since = mktime(&tm);
    *ret_until = mktime(&next);
    return *ret_since >= 0;
}

struct cost_options {
    long long since, until;
    bool is_part; /* only a month */
};

static void cost_write(const struct cli *cli, const struct address *address, const json_t *json,
                       const struct cost_options *options, struct text *text)
{
    const json_t *costs = json_object_get(json, "costs");
    if (cli->has_several)
        text_addf(text, "workflow %" PRIu64 "  %s\n", address->workflow,
                  field_text(json_array_get(costs, 0), "name"));
    if (json_array_size(costs) == 0)
        text_add(text, "nothing has run\n");
    else if (address->workflow)
        cost_write_one(cli, costs, address->phase, options->is_part, text);
    else
        cost_write_all(cli, costs, options->is_part, text);
    if (!options->is_part)
        cost_write_expected(cli, json_object_get(json, "expected"), address->phase, text);
    if (cli->has_several)
        text_add(text, "\n");
}

/* Asks for the costs of a workflow, or of all workflows (workflow 0). */
static int cost_get(struct cli *cli, const struct address *address, long long since,
                    long long until, json_t **ret_json, struct error *err)
{
    int status = address->workflow ? client_check_address(cli, address, err) : 0;
    if (status < 0)
        return status;
    return client_get(cli, ret_json, err, "/v1/costs?workflow=%" PRIu64 "&since=%lld&until=%lld",
                      address->workflow, since, until);
}

/* `context` is the options. */
static int cost_one(struct cli *cli, const struct address *address, const void *context)
{
    const struct cost_options *options = context;
    struct error err;
    struct text text = {0};
    json_t *json;
    if (cost_get(cli, address, options->since, options->until, &json, &err) < 0)
        return cli_fail(&err);
    if (!cli->as_json)
        cost_write(cli, address, json, options, &text);
    return client_take_answer(cli, json, &text);
}

int cost_verb(struct cli *cli, char **words)
{
    struct cost_options options = {.until = LLONG_MAX};
    const char *month = NULL;
    const struct option_rule rules[] = {
        {"month", 0, "YYYY-MM", "count only runs that began in this month", .text = &month},
        {"json", 0, NULL, "print the daemon's answer", .flag = &cli->as_json},
        {0},
    };
    struct option_arguments arguments = {.max = OPTION_ARGUMENTS_MAX};
    int exit_code;
    if (!options_parse(cli, words, rules, &arguments, &exit_code))
        return exit_code;
    if (month && !cost_month(month, &options.since, &options.until))
        return cli_usage(cli, "--month wants a month such as 2026-11, not '%s'", month);
    options.is_part = month != NULL;
    return options_each_address(cli, &arguments, cost_one, &options);
}

/* --- budget ----------------------------------------------------------------------------------- */

static void budget_print_json(uint64_t workflow, const json_t *budget, const struct cost_sum *sum)
{
    double spent[AMOUNT_COUNT];
    cost_amounts(sum, spent);
    json_t *json =
        json_pack("{s:I, s:O?, s:{}}", "workflow", (json_int_t)workflow, "budget", budget, "spent");
    for (enum amount i = 0; i < AMOUNT_COUNT; i++)
        (void)json_object_set_new(json_object_get(json, "spent"), amount_key(i),
                                  isnan(spent[i]) ? json_null() : json_real(spent[i]));
    client_print_json(json);
    json_decref(json);
}

/* `is_new`: the budget was just set. A new budget releases no phase, so the text names the phases
 * that can be released. */
static int budget_show(struct cli *cli, const struct address *address, bool is_new)
{
    struct cost_sum sum = {0};
    struct text text = {0};
    struct error err;
    json_t *workflow, *json;
    const json_t *row;
    size_t i;
    if (client_get_address(cli, address, &workflow, &err) < 0)
        return cli_fail(&err);
    if (cost_get(cli, address, 0, LLONG_MAX, &json, &err) < 0) {
        json_decref(workflow);
        return cli_fail(&err);
    }
    const json_t *costs = json_object_get(json, "costs");
    const json_t *budget = json_object_get(workflow, "budget");
    json_array_foreach(costs, i, row) cost_add(&sum, row);
    if (cli->as_json)
        budget_print_json(address->workflow, json_is_object(budget) ? budget : NULL, &sum);
    if (cli->has_several && !cli->as_json)
        text_addf(&text, "workflow %" PRIu64 "  ", address->workflow);
    if (!cli->as_json)
        cost_write_budget(budget, &sum, &text);
    if (is_new && !cli->as_json)
        held_write_releasable(workflow, &text);
    cli_print(&text);
    json_decref(json);
    json_decref(workflow);
    return CLI_OK;
}

/* `context` is the new budget. If it is empty, the budget is only shown. */
static int budget_one(struct cli *cli, const struct address *address, const void *context)
{
    const json_t *budget = context;
    struct error err;
    json_t *reply;
    if (*address->phase)
        return cli_usage(cli, "a budget belongs to a workflow, such as 7");
    if (json_object_size(budget)) {
        char *path = text_format("/v1/workflows/%" PRIu64 "/budget", address->workflow);
        int status = client_post(cli, path, budget, &reply, NULL, &err);
        free(path);
        if (status < 0)
            return cli_fail(&err);
        json_decref(reply);
    }
    return budget_show(cli, address, json_object_size(budget) > 0);
}

/* Reads the amounts of the options. Returns false after a message. */
static bool budget_read(const struct cli *cli, const char *const *values, json_t *budget)
{
    for (enum amount i = 0; i < AMOUNT_COUNT; i++) {
        char *end;
        double number = values[i] ? strtod(values[i], &end) : 1;
        if (!(number > 0) || !isfinite(number) || (values[i] && *end)) {
            (void)cli_usage(cli, "%s wants a number above 0, not '%s'", amount_option(i),
                            values[i]);
            return false;
        }
        if (values[i])
            (void)json_object_set_new(budget, amount_key(i), json_real(number));
    }
    return true;
}

int budget_verb(struct cli *cli, char **words)
{
    const char *values[AMOUNT_COUNT] = {NULL};
    const struct option_rule rules[] = {
        {"usd", 0, "N", "the new budget in US dollars", .text = &values[AMOUNT_USD]},
        {"gpu-hours", 0, "N", "the new budget in GPU hours", .text = &values[AMOUNT_GPU_HOURS]},
        {"hours", 0, "N", "the new budget in hours of allocations", .text = &values[AMOUNT_HOURS]},
        {"json", 0, NULL, "print the budget, and what is spent, as JSON", .flag = &cli->as_json},
        {0},
    };
    struct option_arguments arguments = {.min = 1, .max = OPTION_ARGUMENTS_MAX};
    int exit_code;
    if (!options_parse(cli, words, rules, &arguments, &exit_code))
        return exit_code;
    json_t *budget = json_object();
    exit_code = budget_read(cli, values, budget)
                    ? options_each_address(cli, &arguments, budget_one, budget)
                    : CLI_USAGE;
    json_decref(budget);
    return exit_code;
}
