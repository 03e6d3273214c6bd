/* Events as lines, the bars of live phases, and the table at the end. */
#include "cli/watch_view.h"

#include "cli/cli.h"
#include "cli/client.h"
#include "cli/field.h"
#include "cli/format.h"
#include "cli/held.h"
#include "cli/phrases.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/view.h"
#include "lib/memory.h"
#include "lib/protocol/words.h"
#include "lib/text.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

/* --- Events ----------------------------------------------------------------------------------- */

enum { EVENT_PHASE_COLUMNS = 12 };

/* Whether the line would only repeat another line. An event of a run without a message is left out,
 * because its phase has an event, too. */
static bool event_is_dull(const json_t *event)
{
    return field_event_type(event) == EVENT_RUN && !field_text(event, "message")[0];
}

static enum colour event_colour(const json_t *event)
{
    int result = field_gate_result(event);
    return result < 0 ? COLOUR_PLAIN : result == GATE_PASSED ? COLOUR_GREEN : COLOUR_RED;
}

/* Adds what happened: `queued -> active`, `run ended: failed oom`, `checkpoint: step 50`. */
static void event_write_change(const struct terminal *terminal, const json_t *event,
                               struct text *text)
{
    const char *type_name = field_text(event, "type"), *from = field_text(event, "from");
    const char *to = field_text(event, "to"), *message = field_text(event, "message");
    int type = field_event_type(event);
    bool is_phase = type == EVENT_PHASE;
    struct text safe = {0};
    if (json_is_integer(json_object_get(event, "step"))) /* `status` shows the path */
        text_addf(&safe, "step %lld", field_integer(event, "step"));
    else
        terminal_add_plain(&safe, message);
    if (type == EVENT_PROMOTION)
        text_add(text, "promoted ");
    else if (!is_phase && !text_starts(message, type_name))
        text_addf(text, "%s%s", type_name, to[0] ? " " : ": ");
    if (is_phase && from[0] && to[0])
        text_addf(text, "%s -> ", from);
    terminal_colour(terminal, text, view_colour(to), to);
    if (safe.size && to[0])
        text_add(text, ": ");
    terminal_colour(terminal, text, event_colour(event), text_string(&safe));
    text_fini(&safe);
}

/* Adds the phase, or the workflow, in a column of its own. */
static void event_write_phase(const json_t *event, bool names_workflow, struct text *text)
{
    const char *phase = field_text(event, "phase");
    char *name = names_workflow ? text_format("%lld%s%s", field_integer(event, "workflow"),
                                              phase[0] ? "/" : "", phase)
                                : xstrdup(phase[0] ? phase : "workflow");
    text_addf(text, "%-*s  ", EVENT_PHASE_COLUMNS, name);
    free(name);
}

void event_write(const struct terminal *terminal, const json_t *event, bool names_workflow,
                 const char *note, struct text *text)
{
    char time_text[FORMAT_SIZE];
    if (event_is_dull(event) && !note[0])
        return;
    text_addf(text, "%s  ", format_time(field_number(event, "time"), time(NULL), time_text));
    event_write_phase(event, names_workflow, text);
    event_write_change(terminal, event, text);
    text_addf(text, "%s%s\n", note[0] ? "; " : "", note);
}

/* --- Live phases ------------------------------------------------------------------------------ */

enum { LIVE_PHASES_MAX = 10, LIVE_NAME_COLUMNS = 12, LIVE_STATE_COLUMNS = 9 };

/* Adds the line without colours. The caller cuts it to the width of the terminal. */
static void live_phase(const struct terminal *terminal, const json_t *phase, bool names_workflow,
                       double now, struct text *text)
{
    const json_t *run = json_object_get(phase, "run");
    double eta_s = field_number(phase, "eta_s");
    char buffer[FORMAT_BAR_SIZE], eta[FORMAT_SIZE];
    const char *bar = view_bar(phase, FORMAT_BAR_COLUMNS, terminal->unicode, buffer);
    struct text progress = {0}, wait = {0};
    text_addf(text, "%-*s  %-*s", LIVE_NAME_COLUMNS,
              field_text(phase, names_workflow ? "address" : "phase"), LIVE_STATE_COLUMNS,
              view_state(phase));
    if (bar[0])
        text_addf(text, "  %s", bar);
    view_progress(phase, &progress);
    if (progress.size) {
        text_addf(text, "  %s  ", text_string(&progress));
        view_metric(phase, text);
    }
    if (!isnan(eta_s))
        text_addf(text, "  %s left", format_duration(eta_s, eta));
    if (wait_write(run, now, &wait))
        text_addf(text, "  %s", text_string(&wait));
    text_fini(&progress);
    text_fini(&wait);
}

void live_write(const struct terminal *terminal, const json_t *workflows, double now,
                struct text *text)
{
    bool names_workflow = json_array_size(workflows) > 1;
    size_t shown = 0, hidden = 0, i, j;
    const json_t *workflow, *phase;
    json_array_foreach(workflows, i, workflow)
    {
        json_array_foreach(json_object_get(workflow, "phases"), j, phase)
        {
            const char *state = field_text(phase, "state");
            if (view_is_final(state) || members_has(phase))
                continue;
            if (shown == LIVE_PHASES_MAX) {
                hidden++;
                continue;
            }
            struct text plain = {0}, cut = {0};
            live_phase(terminal, phase, names_workflow, now, &plain);
            terminal_add_cut(terminal, &cut, text_string(&plain),
                             (size_t)terminal_width(terminal) - 1);
            terminal_colour(terminal, text, view_colour(view_state(phase)), text_string(&cut));
            text_add(text, "\n");
            text_fini(&cut);
            text_fini(&plain);
            shown++;
        }
    }
    if (hidden)
        text_addf(text, "%zu more phase%s\n", hidden, hidden == 1 ? "" : "s");
}

/* --- The end ---------------------------------------------------------------------------------- */

/* How long the runs of a phase took together, without waiting time. */
static double summary_duration(const json_t *runs, const char *phase)
{
    double total = 0, now = (double)time(NULL);
    const json_t *run;
    size_t i;
    json_array_foreach(runs, i, run)
    {
        double duration = view_run_duration(run, now);
        if (members_has_run(phase, run) && !isnan(duration))
            total += duration;
    }
    return total;
}

static void summary_add_row(struct table *table, const json_t *object, const char *name,
                            long long runs, double duration)
{
    const char *state = field_text(object, "state"), *promoted = field_text(object, "promoted");
    table_add(table, name);
    table_add_in(table, view_colour(state), state);
    table_addf(table, "%lld", runs);
    table_add_duration(table, duration);
    const json_t *total = members_total(object);
    table_add_duration(table, field_number(total, "gpu_seconds"));
    table_add_cost(table, field_number(total, "cost_usd"));
    table_add(table, text_equal(promoted, "in_place") ? "in place" : promoted);
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
}

/* Adds where the results of the last phase with a run are, and the record. */
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
    int status = client_get(cli, &reply, NULL, "/v1/runs?workflow=%lld",
                            field_integer(workflow, "workflow"));
    text_addf(text, "\nworkflow %lld (%s) ", field_integer(workflow, "workflow"),
              field_text(workflow, "name"));
    if (field_workflow_state(workflow) == WORKFLOW_HELD)
        text_add(text, "is ");
    terminal_colour(&cli->out, text, view_colour(state), state);
    if (!isnan(ended))
        text_addf(text, " after %s",
                  format_duration(ended - field_number(workflow, "submitted"), buffer));
    text_add(text, "\n\n");
    summary_table(&cli->out, workflow, status < 0 ? NULL : json_object_get(reply, "runs"), text);
    text_add(text, "\n");
    held_write(&cli->out, workflow, text);
    summary_places(cli, workflow, text);
    json_decref(reply);
}
