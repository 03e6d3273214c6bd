/* phasectl watch: prints the history as lines. On a terminal, the lines below them show the live
 * phases and are drawn again as the phases move.
 *
 * Events tell what happened, so nothing is missed between two looks; the workflow's state tells
 * where things stand. The state is read first: events read after a final state are all there are.
 */
#include "cli/watch.h"

#include "cli/cli.h"
#include "cli/client.h"
#include "cli/event.h"
#include "cli/field.h"
#include "cli/live.h"
#include "cli/options.h"
#include "cli/summary.h"
#include "cli/verbs.h"
#include "cli/view.h"
#include "lib/address.h"
#include "lib/error.h"
#include "lib/text.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    WATCH_TURN_S = 1,       /* how long a request for events waits, and how often bars move */
    WATCH_AWAY_MAX_S = 120, /* a daemon that restarts is back long before */
    WATCH_COLUMNS =
        100, /* of tables in a file or pipe: `gate` tells the whole of long conditions */
    WATCH_EVENTS_MAX = 20, /* the newest events of the history that are shown */
};

struct watch {
    struct cli *cli;
    struct address address;
    json_t *workflow;     /* the newest answer */
    long long last_event; /* the newest that was read */
    time_t away_since;    /* 0: the daemon answers */
    struct text above;    /* lines to print */
};

/* Set by SIGINT: the one thing that a signal handler may do. */
static volatile sig_atomic_t watch_interrupted;

static void watch_interrupt(int signal_number)
{
    (void)signal_number;
    watch_interrupted = 1;
}

static void watch_draw(struct watch *watch)
{
    struct terminal *out = &watch->cli->out;
    if (!out->live) {
        cli_print(&watch->above);
        (void)fflush(stdout);
    } else {
        struct text live = {0};
        if (watch->workflow)
            live_write(out, watch->workflow, (double)time(NULL), &live);
        terminal_draw(out, text_string(&watch->above), text_string(&live));
        text_fini(&live);
    }
    text_clear(&watch->above);
}

/* Prints the last lines and removes the live lines: the summary follows. */
static void watch_draw_last(struct watch *watch)
{
    struct terminal *out = &watch->cli->out;
    if (out->live)
        terminal_draw(out, text_string(&watch->above), "");
    else
        cli_print(&watch->above);
    text_clear(&watch->above);
}

static int watch_get_events(struct watch *watch, int wait_s, json_t **ret_reply, struct error *err)
{
    char *path = text_format("/v1/events?after=%lld&workflow=%llu&wait=%d", watch->last_event,
                             (unsigned long long)watch->address.workflow, wait_s);
    int code = client_get(watch->cli, path, ret_reply, err);
    free(path);
    return code;
}

static void watch_print_gate(struct watch *watch, const char *phase)
{
    struct error err;
    struct address address = watch->address;
    char buffer[ADDRESS_PATH_SIZE];
    json_t *gate;
    (void)snprintf(address.phase, sizeof address.phase, "%s", phase);
    char *path = text_format("%s/gate", address_path(&address, buffer));
    if (client_get(watch->cli, path, &gate, &err) == 0) {
        if (json_array_size(json_object_get(gate, "checks")))
            view_gate(&watch->cli->out, gate, EVENT_INDENT, &watch->above);
        json_decref(gate);
    }
    free(path);
}

/* A matrix has many members. Only their ends, and what waits for a person, are printed. */
static bool watch_is_small(const json_t *event)
{
    const char *to = field_text(event, "to");
    bool is_member = strchr(field_text(event, "phase"), '.') != NULL;
    bool is_phase = strcmp(field_text(event, "type"), "phase") == 0;
    return is_member && !(is_phase && (view_is_final(to) || strcmp(to, "held") == 0));
}

static void watch_print_event(struct watch *watch, const json_t *event)
{
    if (watch_is_small(event))
        return;
    event_write(&watch->cli->out, event, &watch->above);
    if (strcmp(field_text(event, "type"), "gate") == 0)
        watch_print_gate(watch, field_text(event, "phase"));
}

/* Reads the next events and prints them. Returns how many there were. */
static int watch_read_events(struct watch *watch, int wait_s, struct error *err)
{
    json_t *reply;
    const json_t *event;
    size_t i;
    int code = watch_get_events(watch, wait_s, &reply, err);
    if (code < 0)
        return code;
    json_array_foreach(json_object_get(reply, "events"), i, event)
    {
        watch->last_event = field_integer(event, "event");
        watch_print_event(watch, event);
    }
    json_decref(reply);
    return (int)i;
}

/* Prints the history so far; only the end of a long history. */
static int watch_read_history(struct watch *watch, struct error *err)
{
    json_t *all = json_array(), *reply, *event;
    size_t i, count;
    int code;
    while ((code = watch_get_events(watch, 0, &reply, err)) == 0) {
        json_t *events = json_object_get(reply, "events");
        count = json_array_size(events);
        json_array_foreach(events, i, event)
        {
            watch->last_event = field_integer(event, "event");
            (void)json_array_append(all, event); /* fails only without memory */
        }
        json_decref(reply);
        if (count == 0)
            break;
    }
    count = json_array_size(all);
    size_t skipped = count > WATCH_EVENTS_MAX ? count - WATCH_EVENTS_MAX : 0;
    if (skipped)
        text_addf(&watch->above, "%*s%zu earlier events\n", EVENT_INDENT, "", skipped);
    for (i = skipped; code == 0 && i < count; i++)
        watch_print_event(watch, json_array_get(all, i));
    json_decref(all);
    return code;
}

/* Reads the state of the workflow. Returns 1 when it has ended or is held. */
static int watch_read_state(struct watch *watch, struct error *err)
{
    json_t *workflow;
    int code = client_get_address(watch->cli, &watch->address, &workflow, err);
    if (code < 0)
        return code;
    json_decref(watch->workflow);
    watch->workflow = workflow;
    const char *state = field_text(workflow, "state");
    return view_is_final(state) || strcmp(state, "held") == 0;
}

/* One turn: draws the state, and waits for the next events. Returns 1 at the end, when all events
 * are read. */
static int watch_turn(struct watch *watch, struct error *err)
{
    int over = watch_read_state(watch, err), count;
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
static int watch_away(struct watch *watch, int code, struct error *err)
{
    time_t now = time(NULL);
    if (!client_may_retry(code) || watch->last_event == 0)
        return code;
    if (!watch->away_since) {
        watch->away_since = now;
        text_addf(&watch->above,
                  "%*sthe daemon does not answer; waiting for it (training goes on)\n",
                  EVENT_INDENT, "");
    }
    if (now - watch->away_since > WATCH_AWAY_MAX_S)
        return error_prefix(err, "stopped watching");
    watch_draw(watch);
    cli_wait(WATCH_TURN_S * 1000);
    return 0;
}

static int watch_loop(struct watch *watch, struct error *err)
{
    int code = watch_read_history(watch, err);
    while (code == 0 && !watch_interrupted) {
        code = watch_turn(watch, err);
        if (code >= 0)
            watch->away_since = 0;
        else
            code = watch_away(watch, code, err);
    }
    return code;
}

static int watch_finish(struct watch *watch)
{
    summary_write(watch->cli, watch->workflow, &watch->above);
    watch_draw_last(watch);
    bool good = strcmp(field_text(watch->workflow, "state"), "succeeded") == 0;
    return good ? CLI_OK : CLI_FAILED;
}

int watch_workflow(struct cli *cli, const struct address *address)
{
    struct watch watch = {.cli = cli, .address = {.workflow = address->workflow}};
    struct error err;
    struct sigaction action = {.sa_handler =
                                   watch_interrupt}; /* no SA_RESTART: Ctrl-C ends a wait */
    (void)sigaction(SIGINT, &action, NULL);          /* cannot fail for SIGINT */
    cli->out.columns = WATCH_COLUMNS;
    int code = watch_loop(&watch, &err), status;
    if (code == 1) {
        status = watch_finish(&watch);
    } else if (code == 0) {
        char text[ADDRESS_TEXT_SIZE];
        watch_draw(&watch);
        (void)fprintf(stderr, "\nphasectl: stopped watching; workflow %s goes on\n",
                      address_text(&watch.address, text));
        status = 128 + SIGINT;
    } else {
        watch_draw(&watch);
        status = cli_fail(&err);
    }
    json_decref(watch.workflow);
    text_fini(&watch.above);
    return status;
}

int watch_verb(struct cli *cli, char **words)
{
    const struct option_rule rules[] = {{0}};
    struct option_arguments arguments = {.min = 1, .max = 1};
    struct address address;
    struct error err;
    int status;
    if (!words[0] && cli->out.live)
        return top_verb(cli, words);
    if (!options_parse(cli, words, rules, &arguments, &status))
        return status;
    if (address_parse(arguments.items[0], &address, &err) < 0)
        return cli_usage(cli, "%s", err.message);
    return watch_workflow(cli, &address);
}
