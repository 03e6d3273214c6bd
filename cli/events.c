/* phasectl events: the history as lines of JSON, or what has ended as spans for a collector of
 * OpenTelemetry. Each line is printed once, also when the daemon restarts: the next request asks
 * for the events after the last number. */
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/field.h"
#include "cli/filter.h"
#include "cli/options.h"
#include "cli/otlp.h"
#include "cli/phrases.h"
#include "cli/verbs.h"
#include "lib/address.h"
#include "lib/error.h"
#include "lib/json.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    EVENTS_TURN_S = 1,       /* how long a request waits, and so how soon Ctrl-C ends the verb */
    EVENTS_PAUSE_MAX_S = 15, /* between two tries; the first pause is a second, then it doubles */
};

/* Which events an address means. */
struct events_wanted {
    struct address address;
    long long run; /* its number in events, if the address is of a run */
};

struct events {
    struct cli *cli;
    bool follows;
    time_t since;     /* 0: all */
    long long after;  /* the newest number that was read */
    bool is_answered; /* the daemon has answered before */
    unsigned pause_s; /* the last pause; 0: the last try succeeded */
    struct otlp *otlp;
    bool keeps_last; /* the home keeps the last event that was sent */
    struct events_wanted wanted[OPTION_ARGUMENTS_MAX];
    size_t wanted_count; /* 0: all events are wanted */
};

/* --- Which events ----------------------------------------------------------------------------- */

static bool events_fits(const struct events_wanted *wanted, const json_t *event)
{
    const struct address *address = &wanted->address;
    if ((uint64_t)field_integer(event, "workflow") != address->workflow)
        return false;
    if (address_kind(address) == ADDRESS_RUN)
        return field_integer(event, "run") == wanted->run;
    return address_kind(address) == ADDRESS_WORKFLOW || members_has_run(address->phase, event);
}

static bool events_wants(const struct events *events, const json_t *event)
{
    bool fits = events->wanted_count == 0;
    for (size_t i = 0; i < events->wanted_count && !fits; i++)
        fits = events_fits(&events->wanted[i], event);
    return fits && field_number(event, "time") >= (double)events->since;
}

/* The workflow of all wanted events, or 0 if there may be several. */
static uint64_t events_workflow(const struct events *events)
{
    uint64_t workflow = events->wanted_count ? events->wanted[0].address.workflow : 0;
    for (size_t i = 1; i < events->wanted_count; i++)
        if (events->wanted[i].address.workflow != workflow)
            return 0;
    return workflow;
}

/* Adds an address; workflow 0 stands for no address. */
static int events_add(struct cli *cli, const struct address *address, const void *context)
{
    struct events *events = *(struct events *const *)context;
    struct events_wanted *wanted = &events->wanted[events->wanted_count];
    struct error err;
    json_t *json;
    if (!address->workflow)
        return CLI_OK;
    if (client_get_address(cli, address, &json, &err) < 0)
        return cli_fail(&err);
    *wanted = (struct events_wanted){.address = *address, .run = field_integer(json, "run")};
    events->wanted_count++;
    json_decref(json);
    return CLI_OK;
}

/* --- Printing --------------------------------------------------------------------------------- */

/* Returns false if nobody reads any more. */
static bool events_print(const json_t *event)
{
    char *line = json_text(event, JSON_COMPACT | JSON_REAL_PRECISION(15));
    printf("%s\n", line);
    free(line);
    return fflush(stdout) == 0;
}

/* Prints or sends the events that are wanted. */
static int events_use(struct events *events, const json_t *page, struct error *err)
{
    json_t *news = json_array(), *event;
    size_t i;
    int status = 0;
    json_array_foreach((json_t *)page, i, event)
    {
        if (status < 0 || !events_wants(events, event))
            continue;
        if (events->otlp)
            (void)json_array_append(news, event); /* fails only without memory */
        else
            status = events_print(event) ? 0 : -EPIPE;
    }
    if (events->otlp)
        status = otlp_send(events->otlp, news, err);
    json_decref(news);
    return status;
}

/* Reads a page of the API and uses it. Waits if there are no events. Returns how many were read;
 * -EPIPE if nobody reads any more. */
static int events_turn(struct events *events, struct error *err)
{
    json_t *reply;
    if (!events->otlp && cli_is_unread())
        return -EPIPE;
    int status =
        client_get(events->cli, &reply, err, "/v1/events?after=%lld&workflow=%" PRIu64 "&wait=%d",
                   events->after, events_workflow(events), events->follows ? EVENTS_TURN_S : 0);
    if (status < 0)
        return status;
    const json_t *page = json_object_get(reply, "events");
    int count = (int)json_array_size(page);
    events->is_answered = true;
    status = events_use(events, page, err);
    if (status == 0 && count) {
        events->after = field_integer(reply, "last");
        if (events->keeps_last)
            status = otlp_write_last(events->cli, events->after, err);
    }
    json_decref(reply);
    return status < 0 ? status : count;
}

/* Waits for a daemon or a collector that does not answer. Returns 0 to try again. */
static int events_away(struct events *events, int status, const struct error *err)
{
    bool is_collector = status == -EHOSTUNREACH;
    if (!events->follows || !(is_collector || (events->is_answered && client_may_retry(status))))
        return status;
    if (!events->pause_s)
        (void)fprintf(stderr, "phasectl: %s; waiting for it\n",
                      is_collector ? err->message : "the daemon does not answer");
    events->pause_s = events->pause_s ? 2 * events->pause_s : 1;
    if (events->pause_s > EVENTS_PAUSE_MAX_S)
        events->pause_s = EVENTS_PAUSE_MAX_S;
    cli_wait(events->pause_s * 1000);
    return 0;
}

static int events_run(struct events *events)
{
    struct error err;
    int status = 1;
    if (events->follows)
        cli_catch(SIGINT);
    while (!cli_is_interrupted() && (status > 0 || (status == 0 && events->follows))) {
        status = events_turn(events, &err);
        if (status < 0 && status != -EPIPE)
            status = events_away(events, status, &err);
        else
            events->pause_s = 0;
    }
    if (status == -EPIPE)
        return CLI_FAILED; /* main() prints a message if a write has failed */
    return status < 0 ? cli_fail(&err) : CLI_OK;
}

/* Sends spans, and says how many. */
static int events_run_otlp(struct events *events)
{
    struct otlp otlp;
    struct error err;
    int exit_code = CLI_FAILED;
    events->otlp = &otlp;
    if (otlp_init(&otlp, events->cli, &err) < 0) {
        (void)cli_fail(&err);
    } else {
        exit_code = events_run(events);
        if (events->cli->as_json)
            printf("{\"sent\": %zu, \"refused\": %zu}\n", otlp.sent, otlp.refused);
        else
            printf("%zu span%s sent, %zu refused\n", otlp.sent, otlp.sent == 1 ? "" : "s",
                   otlp.refused);
        exit_code = otlp.refused ? CLI_FAILED : exit_code;
    }
    otlp_fini(&otlp);
    return exit_code;
}

/* --- The verb --------------------------------------------------------------------------------- */

int events_verb(struct cli *cli, char **words)
{
    struct events events = {.cli = cli}, *context = &events;
    const char *since = NULL;
    unsigned after = UINT_MAX; /* not given */
    bool is_otlp = false;
    const struct option_rule rules[] = {
        {"follow", 'f', NULL, "go on with new events as they come", .flag = &events.follows},
        {"after", 0, "N", "print events with a higher number", .number = &after},
        {"since", 0, "TIME", "print events from this time on, such as 10m (ago) or 14:05",
         .text = &since},
        {"otlp", 0, NULL, "send what has ended to a collector of OpenTelemetry, print no events",
         .flag = &is_otlp},
        {"json", 0, NULL, "print JSON: the default for events", .flag = &cli->as_json},
        {0},
    };
    struct option_arguments arguments = {.max = OPTION_ARGUMENTS_MAX};
    struct error err;
    int exit_code;
    if (!options_parse(cli, words, rules, &arguments, &exit_code))
        return exit_code;
    if (since && options_read_since(since, time(NULL), &events.since, &err) < 0)
        return cli_usage(cli, "%s", err.message);
    events.keeps_last = is_otlp && after == UINT_MAX && !since && arguments.count == 0;
    if (events.keeps_last && otlp_lock(cli, &err) < 0)
        return cli_fail(&err);
    if (events.keeps_last)
        events.after = otlp_read_last(cli);
    else if (after != UINT_MAX)
        events.after = after;
    if (!is_otlp)
        filter_pass();
    exit_code = options_each_address(cli, &arguments, events_add, &context);
    if (exit_code != CLI_OK && !events.wanted_count)
        return exit_code;
    int result = is_otlp ? events_run_otlp(&events) : events_run(&events);
    return exit_code == CLI_OK ? result : exit_code;
}
