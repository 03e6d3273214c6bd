/* Spans of OpenTelemetry. In its JSON form, ids are hexadecimal, and integers of 64 bits are texts.
 */
#include "cli/spans.h"

#include "cli/field.h"
#include "cli/view.h"
#include "lib/fingerprint.h"
#include "lib/json.h"
#include "lib/memory.h"
#include "lib/protocol/words.h"
#include "lib/text.h"

#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SPANS_TRACE_ID_SIZE = 32 + 1,
    SPANS_SPAN_ID_SIZE = 16 + 1,
    SPANS_NANOSECONDS_SIZE = 24,
    SPANS_EVENTS_MAX = 128, /* OpenTelemetry's usual limit */
    SPANS_KIND_INTERNAL = 1,
};

enum spans_status { SPANS_UNSET = 0, SPANS_OK = 1, SPANS_ERROR = 2 };

/* --- Values ----------------------------------------------------------------------------------- */

static void spans_nanoseconds(double time_s, char ret_text[SPANS_NANOSECONDS_SIZE])
{
    (void)snprintf(ret_text, SPANS_NANOSECONDS_SIZE, "%lld000000", llround(time_s * 1000));
}

static void spans_id(const struct spans_source *source, const char *kind, const char *name,
                     char *ret_id, size_t size)
{
    char fingerprint[FINGERPRINT_SIZE];
    json_t *json = json_pack(
        "[s, I, I, s, s]", source->home, (json_int_t)field_integer(source->workflow, "workflow"),
        (json_int_t)llround(field_number(source->workflow, "submitted") * 1000), kind, name);
    fingerprint_json(json, fingerprint);
    memcpy(ret_id, fingerprint, size - 1); /* its first digits */
    ret_id[size - 1] = '\0';
    json_decref(json);
}

/* Takes `value`. A NULL, null or empty text is left out. */
static void spans_attribute(json_t *attributes, const char *key, json_t *value)
{
    char number[32];
    json_t *any = NULL;
    if (json_is_string(value) && json_string_length(value) > 0) {
        any = json_pack("{s:O}", "stringValue", value);
    } else if (json_is_integer(value)) {
        (void)snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
        any = json_pack("{s:s}", "intValue", number);
    } else if (json_is_real(value)) {
        any = json_pack("{s:O}", "doubleValue", value);
    } else if (json_is_array(value)) {
        json_t *values = json_array(), *item;
        size_t i;
        json_array_foreach(value, i, item)
            json_array_append_new(values, json_pack("{s:O}", "stringValue", item));
        any = json_pack("{s:{s:o}}", "arrayValue", "values", values);
    }
    if (any)
        json_array_append_new(attributes, json_pack("{s:s, s:o}", "key", key, "value", any));
    json_decref(value);
}

/* Adds the member of the object, if it has one, as `phased.MEMBER`. */
static void spans_copy(json_t *attributes, const json_t *object, const char *member)
{
    char *key = text_format("phased.%s", member);
    spans_attribute(attributes, key, json_incref(json_object_get(object, member)));
    free(key);
}

/* --- Parts of a span -------------------------------------------------------------------------- */

/* One event of the history as an event of a span: "run ended" or "gate". */
static json_t *spans_event(const json_t *event)
{
    const char *type = field_text(event, "type"), *to = field_text(event, "to");
    char time[SPANS_NANOSECONDS_SIZE];
    json_t *attributes = json_array();
    char *name = text_format("%s%s%s", type, to[0] ? " " : "", to);
    spans_nanoseconds(field_number(event, "time"), time);
    spans_copy(attributes, event, "message");
    spans_attribute(attributes, "phased.event", json_integer(field_integer(event, "event")));
    json_t *result =
        json_pack("{s:s, s:s, s:o}", "timeUnixNano", time, "name", name, "attributes", attributes);
    free(name);
    return result;
}

/* Whether the event belongs to the span of its run, and not to the span of its phase. */
static bool spans_is_of_run(const json_t *event)
{
    int type = field_event_type(event);
    return field_integer(event, "run") != 0 && (type == EVENT_RUN || type == EVENT_GUARD ||
                                                type == EVENT_CHECKPOINT || type == EVENT_WARNING);
}

/* The events of a run; of a phase, if `run` is 0; of the workflow, if `phase` is "" too. */
static json_t *spans_events(const struct spans_source *source, const char *phase, long long run)
{
    json_t *events = json_array(), *event;
    size_t i;
    json_array_foreach((json_t *)source->events, i, event)
    {
        bool is_of_run = spans_is_of_run(event);
        if (run ? is_of_run && field_integer(event, "run") == run
                : !is_of_run && text_equal(field_text(event, "phase"), phase))
            (void)json_array_append(events, event); /* fails only without memory */
    }
    return events;
}

/* Adds the newest events to the span. Takes `events`. */
static void spans_add_events(json_t *span, json_t *events)
{
    json_t *list = json_array();
    size_t count = json_array_size(events);
    size_t skipped = count > SPANS_EVENTS_MAX ? count - SPANS_EVENTS_MAX : 0;
    for (size_t i = skipped; i < count; i++)
        json_array_append_new(list, spans_event(json_array_get(events, i)));
    json_object_set_new(span, "events", list);
    if (skipped)
        json_object_set_new(span, "droppedEventsCount", json_integer((json_int_t)skipped));
    json_decref(events);
}

struct spans_place {
    const char *kind, *id;               /* what the id is made of */
    const char *parent_kind, *parent_id; /* NULL: the span is the root */
    const char *name;
    double started_s, ended_s;
};

static json_t *spans_begin(const struct spans_source *source, const struct spans_place *place)
{
    char trace[SPANS_TRACE_ID_SIZE], id[SPANS_SPAN_ID_SIZE], parent[SPANS_SPAN_ID_SIZE] = "";
    char started[SPANS_NANOSECONDS_SIZE], ended[SPANS_NANOSECONDS_SIZE];
    spans_id(source, "trace", "", trace, sizeof trace);
    spans_id(source, place->kind, place->id, id, sizeof id);
    if (place->parent_kind)
        spans_id(source, place->parent_kind, place->parent_id, parent, sizeof parent);
    /* A clock that was set back must not make a span that ends before it begins. */
    spans_nanoseconds(fmin(place->started_s, place->ended_s), started);
    spans_nanoseconds(place->ended_s, ended);
    return json_pack("{s:s, s:s, s:s, s:s, s:i, s:s, s:s}", "traceId", trace, "spanId", id,
                     "parentSpanId", parent, "name", place->name, "kind", SPANS_KIND_INTERNAL,
                     "startTimeUnixNano", started, "endTimeUnixNano", ended);
}

/* Takes `attributes`. Only a failure has a message. */
static void spans_finish(json_t *span, json_t *attributes, enum spans_status status,
                         const char *message)
{
    json_object_set_new(span, "attributes", attributes);
    json_object_set_new(span, "status",
                        status == SPANS_ERROR && message[0]
                            ? json_pack("{s:i, s:s}", "code", status, "message", message)
                            : json_pack("{s:i}", "code", status));
}

/* `word` is an outcome or a final state. `skipped` is the only final state that is not an outcome
 * as well. */
static enum spans_status spans_status(const char *word)
{
    int outcome = run_outcome_parse(word);
    return outcome == OUTCOME_SUCCEEDED                           ? SPANS_OK
           : outcome == OUTCOME_FAILED || outcome == OUTCOME_LOST ? SPANS_ERROR
                                                                  : SPANS_UNSET;
}

/* --- The three kinds of spans ----------------------------------------------------------------- */

static const json_t *spans_phase_of(const struct spans_source *source, const char *name)
{
    return field_find(json_object_get(source->workflow, "phases"), "phase", name);
}

/* A link to the attempt before the run, if there was one. */
static void spans_link(const struct spans_source *source, const json_t *run, json_t *span)
{
    char trace[SPANS_TRACE_ID_SIZE], id[SPANS_SPAN_ID_SIZE];
    long long attempt = field_integer(run, "attempt");
    if (attempt < 2)
        return;
    char *before = text_format("%s#%lld", field_text(run, "phase"), attempt - 1);
    spans_id(source, "trace", "", trace, sizeof trace);
    spans_id(source, "run", before, id, sizeof id);
    json_object_set_new(
        span, "links",
        json_pack("[{s:s, s:s, s:[]}]", "traceId", trace, "spanId", id, "attributes"));
    free(before);
}

static json_t *spans_of_run(const struct spans_source *source, const json_t *run, const json_t *end)
{
    static const char *const members[] = {"address", "outcome",   "cause",      "message",
                                          "attempt", "job_id",    "nodes",      "gpu",
                                          "signal",  "exit_code", "first_step", "last_step"};
    const char *phase = field_text(run, "phase"), *outcome = field_text(run, "outcome");
    const json_t *phase_json = spans_phase_of(source, phase);
    char *name = text_format("%s#%lld", phase, field_integer(run, "attempt"));
    double ended_s = field_number(run, "ended");
    const struct spans_place place = {.kind = "run",
                                      .id = name,
                                      .parent_kind = "phase",
                                      .parent_id = phase,
                                      .name = name,
                                      .started_s = field_number(run, "submitted"),
                                      .ended_s =
                                          isnan(ended_s) ? field_number(end, "time") : ended_s};
    json_t *span = spans_begin(source, &place), *attributes = json_array();
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        spans_copy(attributes, run, members[i]);
    spans_copy(attributes, phase_json, "gpus");
    spans_link(source, run, span);
    spans_add_events(span, spans_events(source, phase, field_integer(run, "run")));
    spans_finish(span, attributes, spans_status(outcome), field_text(run, "message"));
    free(name);
    return span;
}

/* A phase begins with its first event. */
static json_t *spans_of_phase(const struct spans_source *source, const json_t *phase,
                              const json_t *end)
{
    static const char *const members[] = {"address",  "state",          "reason",   "attempts",
                                          "gpus",     "nodes",          "cost_usd", "gpu_seconds",
                                          "promoted", "checkpoint_step"};
    const char *name = field_text(phase, "phase"), *matrix = field_text(phase, "matrix");
    json_t *events = spans_events(source, name, 0), *attributes = json_array();
    const struct spans_place place = {
        .kind = "phase",
        .id = name,
        .parent_kind = matrix[0] ? "phase" : "workflow",
        .parent_id = matrix,
        .name = name,
        .started_s = field_number(json_array_get(events, 0), "time"),
        .ended_s = field_number(end, "time"),
    };
    json_t *span = spans_begin(source, &place);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        spans_copy(attributes, phase, members[i]);
    spans_add_events(span, events);
    spans_finish(span, attributes, spans_status(field_text(phase, "state")),
                 field_text(phase, "reason"));
    return span;
}

static json_t *spans_of_workflow(const struct spans_source *source, const json_t *end)
{
    static const char *const members[] = {"workflow", "name",        "state", "file",
                                          "cost_usd", "gpu_seconds", "commit"};
    const json_t *workflow = source->workflow;
    const json_t *failed =
        field_find(json_object_get(workflow, "phases"), "state", phase_state_name(PHASE_FAILED));
    const struct spans_place place = {.kind = "workflow",
                                      .id = "",
                                      .name = field_text(workflow, "name"),
                                      .started_s = field_number(workflow, "submitted"),
                                      .ended_s = field_number(end, "time")};
    json_t *span = spans_begin(source, &place), *attributes = json_array();
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        spans_copy(attributes, workflow, members[i]);
    char *message =
        failed ? text_format("%s: %s", field_text(failed, "phase"), field_text(failed, "reason"))
               : xstrdup("");
    spans_add_events(span, spans_events(source, "", 0));
    spans_finish(span, attributes, spans_status(field_text(workflow, "state")), message);
    free(message);
    return span;
}

/* --- What has ended --------------------------------------------------------------------------- */

static bool spans_is_end(const json_t *event)
{
    return field_event_type(event) == EVENT_PHASE && view_is_final(field_text(event, "to"));
}

static bool spans_is_run_end(const json_t *event)
{
    return field_event_type(event) == EVENT_RUN &&
           run_state_parse(field_text(event, "to")) == RUN_ENDED;
}

bool spans_may_be_end(const json_t *event)
{
    return spans_is_run_end(event) || spans_is_end(event);
}

/* The last end of a phase, or of any phase if `name` is NULL. */
static const json_t *spans_last_end(const struct spans_source *source, const char *name)
{
    for (size_t i = json_array_size(source->events); i-- > 0;) {
        const json_t *event = json_array_get(source->events, i);
        if (spans_is_end(event) && (!name || text_equal(field_text(event, "phase"), name)))
            return event;
    }
    return NULL;
}

static const json_t *spans_run_of(const struct spans_source *source, long long number)
{
    const json_t *run;
    size_t i;
    json_array_foreach((json_t *)source->runs, i,
                       run) if (field_integer(run, "run") == number) return run;
    return NULL;
}

size_t spans_add(const struct spans_source *source, const json_t *news, json_t *spans)
{
    size_t missing = 0, i;
    const json_t *event;
    json_array_foreach((json_t *)news, i, event)
    {
        long long number = field_integer(event, "event");
        const char *name = field_text(event, "phase");
        if (spans_is_run_end(event)) {
            const json_t *run = spans_run_of(source, field_integer(event, "run"));
            missing += run == NULL;
            if (run)
                json_array_append_new(spans, spans_of_run(source, run, event));
        }
        if (!spans_is_end(event))
            continue;
        const json_t *phase = spans_phase_of(source, name);
        if (phase && view_is_final(field_text(phase, "state")) &&
            field_integer(spans_last_end(source, name), "event") == number)
            json_array_append_new(spans, spans_of_phase(source, phase, event));
        if (view_is_final(field_text(source->workflow, "state")) &&
            field_integer(spans_last_end(source, NULL), "event") == number)
            json_array_append_new(spans, spans_of_workflow(source, event));
    }
    return missing;
}

char *spans_body(const char *service, const char *home, json_t *spans)
{
    json_t *resource = json_array(),
           *scope = json_pack("{s:s, s:s}", "name", "phased", "version", PACKAGE_VERSION);
    spans_attribute(resource, "service.name", json_string(service));
    spans_attribute(resource, "phased.home", json_string(home));
    json_t *json = json_pack("{s:[{s:{s:o}, s:[{s:o, s:O}]}]}", "resourceSpans", "resource",
                             "attributes", resource, "scopeSpans", "scope", scope, "spans", spans);
    char *text = json_text(json, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(json);
    return text;
}
