/* phasectl watch: prints the history of workflows as lines. On a terminal, the lines below them
 * show the live phases and are drawn again as the phases move.
 *
 * Events say what happened, so nothing is missed between two looks. The state of the workflow says
 * where it is now. The state is read first. After a final state, the next events are the last.
 */
#include "cli/watch.h"

#include "cli/cli.h"
#include "cli/client.h"
#include "cli/field.h"
#include "cli/filter.h"
#include "cli/format.h"
#include "cli/options.h"
#include "cli/verbs.h"
#include "cli/view.h"
#include "cli/watch_view.h"
#include "lib/address.h"
#include "lib/clock.h"
#include "lib/error.h"
#include "lib/json.h"
#include "lib/memory.h"
#include "lib/protocol/words.h"
#include "lib/text.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    WATCH_TURN_S = 1,       /* how long a request for events waits, and how often bars move */
    WATCH_AWAY_MAX_S = 120, /* a daemon that restarts is back long before */
    WATCH_COLUMNS = 100,    /* of tables in a file or pipe: `gate` shows long conditions whole */
    WATCH_EVENTS_MAX = 20,  /* the newest events of the history that are shown */
};

struct watch_one {
    struct address address;
    json_t *workflow;     /* the newest answer */
    long long last_event; /* the newest that was read */
};

struct watch {
    struct cli *cli;
    enum watch_form form;
    struct watch_one ones[OPTION_ARGUMENTS_MAX];
    size_t count;
    bool has_history;    /* it was read and printed */
    double away_since_s; /* of clock_steady_s(); 0: the daemon answers */
    struct text above;   /* lines to print */
};

/* --- Printing --------------------------------------------------------------------------------- */

static void watch_draw(struct watch *watch)
{
    struct terminal *out = &watch->cli->out;
    if (!out->live || watch->form != WATCH_LINES) {
        cli_print(&watch->above);
        (void)fflush(stdout);
    } else {
        struct text live = {0};
        json_t *workflows = json_array();
        for (size_t i = 0; i < watch->count; i++)
            (void)json_array_append(workflows,
                                    watch->ones[i].workflow); /* not yet read: left out */
        live_write(out, workflows, (double)time(NULL), &live);
        terminal_draw(out, text_string(&watch->above), text_string(&live));
        json_decref(workflows);
        text_fini(&live);
    }
    text_clear(&watch->above);
}

/* Prints the last lines and removes the live lines: the summary follows. */
static void watch_draw_last(struct watch *watch)
{
    struct terminal *out = &watch->cli->out;
    if (out->live && watch->form == WATCH_LINES)
        terminal_draw(out, text_string(&watch->above), "");
    else
        cli_print(&watch->above);
    text_clear(&watch->above);
}

/* Asks for the phase of an event. Returns the run of the event among the runs of the phase, or
 * NULL. */
static const json_t *watch_find_run(struct watch *watch, const json_t *event, json_t **ret_phase)
{
    struct address address = {.workflow = (uint64_t)field_integer(event, "workflow")};
    const json_t *run;
    size_t i;
    *ret_phase = NULL;
    (void)snprintf(address.phase, sizeof address.phase, "%s", field_text(event, "phase"));
    if (client_get_address(watch->cli, &address, ret_phase, NULL) < 0)
        return NULL;
    json_array_foreach(json_object_get(*ret_phase, "runs"), i, run)
    {
        if (field_integer(run, "run") == field_integer(event, "run"))
            return run;
    }
    return NULL;
}

/* Prints the checks of the run of the event. The daemon tells only those of the newest run that was
 * judged. */
static void watch_print_gate(struct watch *watch, const json_t *event)
{
    json_t *phase, *gate = NULL;
    const json_t *run = watch_find_run(watch, event, &phase);
    if (run && client_get_part_of(watch->cli, phase, "/gate", &gate, NULL) == 0 &&
        text_equal(field_text(gate, "run"), field_text(run, "address")) &&
        json_array_size(json_object_get(gate, "checks")))
        view_gate(&watch->cli->out, gate, EVENT_INDENT, &watch->above);
    json_decref(gate);
    json_decref(phase);
}

/* A matrix has many members. Only their ends, and what waits for a person, are printed. */
static bool watch_is_small(const json_t *event)
{
    const char *to = field_text(event, "to");
    bool is_member = strchr(field_text(event, "phase"), '.') != NULL;
    bool is_phase = field_event_type(event) == EVENT_PHASE;
    return is_member && !(is_phase && (view_is_final(to) || phase_state_parse(to) == PHASE_HELD));
}

/* Adds the step from which a new run goes on. Adds nothing if the run begins at the start. */
static void watch_note_resume(struct watch *watch, const json_t *event, struct text *note)
{
    json_t *phase;
    char step[FORMAT_SIZE];
    if (field_event_type(event) != EVENT_RUN ||
        run_state_parse(field_text(event, "to")) != RUN_RUNNING)
        return;
    const json_t *run = watch_find_run(watch, event, &phase);
    if (run && field_text(run, "resume")[0])
        text_addf(note, "goes on from step %s",
                  format_count(field_number(run, "first_step"), step));
    json_decref(phase);
}

static void watch_print_event(struct watch *watch, const json_t *event)
{
    if (watch->form == WATCH_JSON) {
        char *line = json_text(event, JSON_COMPACT | JSON_REAL_PRECISION(15));
        text_addf(&watch->above, "%s\n", line);
        free(line);
    }
    if (watch->form != WATCH_LINES || watch_is_small(event))
        return;
    struct text note = {0};
    watch_note_resume(watch, event, &note);
    event_write(&watch->cli->out, event, watch->count > 1, text_string(&note), &watch->above);
    text_fini(&note);
    if (field_event_type(event) == EVENT_GATE)
        watch_print_gate(watch, event);
}

/* --- Reading ---------------------------------------------------------------------------------- */

/* Appends the next events of a workflow. Returns how many there are. */
static int watch_read_one(struct watch *watch, struct watch_one *one, int wait_s, json_t *events,
                          struct error *err)
{
    json_t *reply, *event;
    size_t i;
    int status =
        client_get(watch->cli, &reply, err, "/v1/events?after=%lld&workflow=%" PRIu64 "&wait=%d",
                   one->last_event, one->address.workflow, wait_s);
    if (status < 0)
        return status;
    json_array_foreach(json_object_get(reply, "events"), i, event)
    {
        one->last_event = field_integer(event, "event");
        (void)json_array_append(events, event); /* fails only without memory */
    }
    json_decref(reply);
    return (int)i;
}

static int watch_compare_events(const void *a, const void *b)
{
    long long left = field_integer(*(json_t *const *)a, "event");
    long long right = field_integer(*(json_t *const *)b, "event");
    return (left > right) - (left < right);
}

/* Prints the events from `skipped` on, in the order in which they happened. */
static void watch_print_events(struct watch *watch, const json_t *events, size_t skipped)
{
    size_t count = json_array_size(events);
    const json_t **sorted = xcalloc(count + 1, sizeof(const json_t *));
    for (size_t i = 0; i < count; i++)
        sorted[i] = json_array_get(events, i);
    qsort(sorted, count, sizeof *sorted, watch_compare_events);
    for (size_t i = skipped; i < count; i++)
        watch_print_event(watch, sorted[i]);
    free(sorted);
}

/* Reads the next events of all workflows and prints them. If there are no new events, waits for at
 * most `wait_s`. Returns how many there were. */
static int watch_read_events(struct watch *watch, int wait_s, struct error *err)
{
    json_t *events = json_array();
    int status = 0;
    for (size_t i = 0; i < watch->count && status >= 0; i++)
        status = watch_read_one(watch, &watch->ones[i], watch->count > 1 ? 0 : wait_s, events, err);
    int count = (int)json_array_size(events);
    watch_print_events(watch, events, 0);
    json_decref(events);
    if (status >= 0 && count == 0 && watch->count > 1)
        cli_wait((unsigned)wait_s * 1000);
    return status < 0 ? status : count;
}

/* Prints the history so far; for people, only the end of a long history. */
static int watch_read_history(struct watch *watch, struct error *err)
{
    json_t *all = json_array();
    int status = 0;
    for (size_t i = 0; i < watch->count && status >= 0; i++) {
        watch->ones[i].last_event = 0;
        while ((status = watch_read_one(watch, &watch->ones[i], 0, all, err)) > 0)
            continue;
    }
    size_t count = json_array_size(all), skipped = 0;
    if (watch->form == WATCH_LINES && count > WATCH_EVENTS_MAX)
        skipped = count - WATCH_EVENTS_MAX;
    if (status == 0 && skipped)
        text_addf(&watch->above, "%*s%zu earlier event%s\n", EVENT_INDENT, "", skipped,
                  skipped == 1 ? "" : "s");
    if (status == 0)
        watch_print_events(watch, all, skipped);
    watch->has_history = watch->has_history || status == 0;
    json_decref(all);
    return status;
}

/* Reads the states of the workflows. Returns 1 when all have ended or are held. */
static int watch_read_states(struct watch *watch, struct error *err)
{
    bool are_over = true;
    for (size_t i = 0; i < watch->count; i++) {
        struct watch_one *one = &watch->ones[i];
        json_t *workflow;
        int status = client_get_address(watch->cli, &one->address, &workflow, err);
        if (status < 0)
            return status;
        json_decref(one->workflow);
        one->workflow = workflow;
        are_over = are_over && (view_is_final(field_text(workflow, "state")) ||
                                field_workflow_state(workflow) == WORKFLOW_HELD);
    }
    return are_over;
}

/* One turn: draws the state, and waits for the next events. Returns 1 at the end, when all events
 * are read. */
static int watch_turn(struct watch *watch, struct error *err)
{
    int over = watch_read_states(watch, err), count;
    if (over < 0)
        return over;
    if (!over) {
        watch_draw(watch);
        count = watch_read_events(watch, WATCH_TURN_S, err);
        return count < 0 ? count : 0;
    }
    do {
        count = watch_read_events(watch, 0, err);
    } while (count > 0);
    return count < 0 ? count : 1;
}

/* Waits for a daemon that does not answer, because the training goes on without it. Returns 0 to
 * try again. */
static int watch_away(struct watch *watch, int status, struct error *err)
{
    static const char said[] = "the daemon does not answer; waiting for it (training goes on)";
    double now_s = clock_steady_s();
    bool is_new = watch->away_since_s <= 0;
    if (!client_may_retry(status) || !watch->has_history)
        return status;
    if (is_new && watch->form == WATCH_LINES)
        text_addf(&watch->above, "%*s%s\n", EVENT_INDENT, "", said);
    else if (is_new)
        (void)fprintf(stderr, "phasectl: %s\n", said);
    watch->away_since_s = is_new ? now_s : watch->away_since_s;
    if (now_s - watch->away_since_s > WATCH_AWAY_MAX_S)
        return error_prefix(err, "stopped watching");
    watch_draw(watch);
    cli_wait(WATCH_TURN_S * 1000);
    return 0;
}

/* Returns 1 at the end, and -EPIPE if nobody reads any more. */
static int watch_loop(struct watch *watch, struct error *err)
{
    int status = watch_read_history(watch, err);
    while (status == 0 && !cli_is_interrupted()) {
        if (cli_is_unread())
            return -EPIPE;
        status = watch_turn(watch, err);
        if (status >= 0)
            watch->away_since_s = 0;
        else
            status = watch_away(watch, status, err);
    }
    return status;
}

/* --- The verb --------------------------------------------------------------------------------- */

static int watch_finish(struct watch *watch)
{
    int exit_code = CLI_OK;
    for (size_t i = 0; i < watch->count; i++) {
        const json_t *workflow = watch->ones[i].workflow;
        if (watch->form == WATCH_LINES)
            summary_write(watch->cli, workflow, &watch->above);
        if (field_workflow_state(workflow) != WORKFLOW_SUCCEEDED)
            exit_code = CLI_FAILED;
    }
    watch_draw_last(watch);
    return exit_code;
}

/* Adds the workflow of an address. Returns CLI_FAILED, after a message, if it does not exist. */
static int watch_add(struct watch *watch, const struct address *address)
{
    struct address workflow = {.workflow = address->workflow};
    struct error err;
    for (size_t i = 0; i < watch->count; i++) {
        if (watch->ones[i].address.workflow == address->workflow)
            return CLI_OK; /* 7/validate and 7/train are one workflow */
    }
    if (client_check_address(watch->cli, &workflow, &err) < 0)
        return cli_fail(&err);
    watch->ones[watch->count++] = (struct watch_one){.address = workflow};
    return CLI_OK;
}

static int watch_run(struct watch *watch)
{
    struct error err;
    int status = watch_loop(watch, &err);
    if (status == 1)
        return watch_finish(watch);
    if (status == -EPIPE)
        return CLI_FAILED; /* main() prints a message if a write has failed */
    watch_draw(watch);
    if (status < 0)
        return cli_fail(&err);
    if (watch->count > 1)
        (void)fprintf(stderr, "\nphasectl: stopped watching; the workflows go on\n");
    else
        (void)fprintf(stderr, "\nphasectl: stopped watching; workflow %llu goes on\n",
                      (unsigned long long)watch->ones[0].address.workflow);
    return 128 + SIGINT;
}

int watch_workflows(struct cli *cli, const struct address *addresses, size_t count,
                    enum watch_form form)
{
    struct watch watch = {.cli = cli, .form = form};
    int exit_code = CLI_OK;
    cli_catch(SIGINT);
    cli->out.columns = WATCH_COLUMNS;
    if (form == WATCH_JSON)
        filter_pass();
    for (size_t i = 0; i < count; i++) {
        int added = watch_add(&watch, &addresses[i]);
        exit_code = exit_code == CLI_OK ? added : exit_code;
    }
    if (watch.count) {
        int watched = watch_run(&watch);
        exit_code = exit_code == CLI_OK || watched > CLI_FAILED ? watched : exit_code;
    }
    for (size_t i = 0; i < watch.count; i++)
        json_decref(watch.ones[i].workflow);
    text_fini(&watch.above);
    return exit_code;
}

int watch_verb(struct cli *cli, char **words)
{
    const struct option_rule rules[] = {
        {"json", 0, NULL, "print each event as a line of JSON", .flag = &cli->as_json},
        {0},
    };
    struct option_arguments arguments = {.max = OPTION_ARGUMENTS_MAX};
    struct address addresses[OPTION_ARGUMENTS_MAX];
    struct error err;
    int exit_code;
    if (!words[0] && cli->out.live)
        return top_verb(cli, words);
    if (!options_parse(cli, words, rules, &arguments, &exit_code))
        return exit_code;
    if (arguments.count == 0)
        return cli_usage(cli, cli->as_json ? "--json needs an address"
                                           : "without an address, watch needs a terminal");
    for (size_t i = 0; i < arguments.count; i++) {
        if (address_parse(arguments.items[i], &addresses[i], &err) < 0)
            return cli_usage(cli, "%s", err.message);
    }
    return watch_workflows(cli, addresses, arguments.count,
                           cli->as_json ? WATCH_JSON : WATCH_LINES);
}
