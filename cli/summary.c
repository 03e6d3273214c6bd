/* The table at the end of a workflow. */
#include "cli/summary.h"

#include "cli/cli.h"
#include "cli/client.h"
#include "cli/field.h"
#include "cli/format.h"
#include "cli/held.h"
#include "cli/members.h"
#include "cli/table.h"
#include "cli/view.h"
#include "lib/text.h"

#include <math.h>
#include <string.h>
#include <time.h>

/* Whether the run is one of the phase, or of a member of the matrix `phase`. */
static bool summary_is_of(const json_t *run, const char *phase)
{
    const char *name = field_text(run, "phase");
    size_t size = strlen(phase);
    return strncmp(name, phase, size) == 0 && (name[size] == '\0' || name[size] == '.');
}

/* How long the runs of a phase took together, without waiting time. */
static double summary_duration(const json_t *runs, const char *phase)
{
    double total = 0, now = (double)time(NULL);
    const json_t *run;
    size_t i;
    json_array_foreach(runs, i, run)
    {
        double duration = view_run_duration(run, now);
        if (summary_is_of(run, phase) && !isnan(duration))
            total += duration;
    }
    return total;
}

static void summary_add_row(struct table *table, const json_t *object, const char *name,
                            long long runs, double duration)
{
    char buffer[FORMAT_SIZE];
    const char *state = field_text(object, "state"), *promoted = field_text(object, "promoted");
    table_add(table, COLOUR_PLAIN, name);
    table_add(table, view_colour(state), state);
    table_addf(table, COLOUR_PLAIN, "%lld", runs);
    table_add(table, COLOUR_PLAIN, format_duration(duration, buffer));
    const json_t *total = members_total(object);
    table_add(table, COLOUR_PLAIN, format_duration(field_number(total, "gpu_seconds"), buffer));
    table_add(table, COLOUR_PLAIN, format_cost(field_number(total, "cost_usd"), buffer));
    table_add(table, COLOUR_PLAIN, strcmp(promoted, "in_place") == 0 ? "in place" : promoted);
}

static void summary_table(const struct terminal *terminal, const json_t *workflow,
                          const json_t *runs, struct text *text)
{
    static const struct table_column columns[] = {
        {"PHASE", TABLE_LEFT, TABLE_WHOLE},     {"STATE", TABLE_LEFT, TABLE_WHOLE},
        {"RUNS", TABLE_RIGHT, TABLE_WHOLE},     {"TOOK", TABLE_RIGHT, TABLE_WHOLE},
        {"GPU TIME", TABLE_RIGHT, TABLE_WHOLE}, {"COST", TABLE_RIGHT, TABLE_WHOLE},
        {"PROMOTED", TABLE_LEFT, TABLE_WHOLE},
    };
    const json_t *phases = json_object_get(workflow, "phases"), *phase;
    struct table table;
    long long all_runs = 0;
    double all_s = 0;
    size_t i;
    table_init(&table, columns, sizeof columns / sizeof columns[0]);
    json_array_foreach(phases, i, phase)
    {
        const char *name = field_text(phase, "phase");
        if (members_has(phase))
            continue;
        long long count = field_integer(members_total(phase), "attempts");
        double duration_s = summary_duration(runs, name);
        summary_add_row(&table, phase, name, count, duration_s);
        all_runs += count;
        all_s += duration_s;
    }
    if (json_array_size(phases) > 1)
        summary_add_row(&table, workflow, "total", all_runs, all_s);
    table_write(&table, terminal, 0, text);
    table_fini(&table);
}

/* Where the results of the last phase are that has results. */
static void summary_places(const struct cli *cli, const json_t *workflow, struct text *text)
{
    const json_t *phases = json_object_get(workflow, "phases"), *phase;
    for (size_t i = json_array_size(phases); i-- > 0;) {
        phase = json_array_get(phases, i);
        const char *checkpoint = field_text(phase, "checkpoint"), *out = field_text(phase, "out");
        if (field_integer(members_total(phase), "attempts") == 0)
            continue;
        if (checkpoint[0])
            text_addf(text, "model   %s\n", checkpoint);
        else if (out[0])
            text_addf(text, "output  %s\n", out);
        break;
    }
    text_addf(text, "record  %s\n", cli->home.database);
}

void summary_write(struct cli *cli, const json_t *workflow, struct text *text)
{
    char buffer[FORMAT_SIZE];
    json_t *reply = NULL;
    const char *state = field_text(workflow, "state");
    double ended = field_number(workflow, "ended");
    int code = client_get(cli, &reply, NULL, "/v1/runs?workflow=%lld",
                          field_integer(workflow, "workflow"));
    text_addf(text, "\nworkflow %lld (%s) ", field_integer(workflow, "workflow"),
              field_text(workflow, "name"));
    if (strcmp(state, "held") == 0)
        text_add(text, "is ");
    terminal_colour(&cli->out, text, view_colour(state), state);
    if (!isnan(ended))
        text_addf(text, " after %s",
                  format_duration(ended - field_number(workflow, "submitted"), buffer));
    text_add(text, "\n\n");
    summary_table(&cli->out, workflow, code < 0 ? NULL : json_object_get(reply, "runs"), text);
    text_add(text, "\n");
    held_write(&cli->out, workflow, text);
    summary_places(cli, workflow, text);
    json_decref(reply);
}
