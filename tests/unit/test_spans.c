/* Spans of OpenTelemetry that a short run of a real workflow does not make. */
#include "tests/unit/unit.h"

#include "cli/spans.h"
#include "lib/text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* A matrix of two members. The first member has ended, and so has the matrix. */
static const char workflow_text[] =
    "{\"workflow\": 7, \"name\": \"sweep\", \"state\": \"running\", \"submitted\": 1000.5,"
    " \"phases\": ["
    "  {\"phase\": \"ladder\", \"state\": \"succeeded\", \"matrix\": null, \"members\": 2},"
    "  {\"phase\": \"ladder.1\", \"state\": \"succeeded\", \"matrix\": \"ladder\"},"
    "  {\"phase\": \"ladder.2\", \"state\": \"active\", \"matrix\": \"ladder\"}]}";

static json_t *event_of(int number, double time, const char *phase, json_int_t run,
                        const char *type, const char *to)
{
    return json_pack("{s:i, s:f, s:i, s:s, s:o, s:s, s:s, s:s}", "event", number, "time", time,
                     "workflow", 7, "phase", phase, "run", run ? json_integer(run) : json_null(),
                     "type", type, "to", to, "message", "");
}

static json_t *run_of(json_int_t number, const char *phase, int attempt, double ended)
{
    return json_pack("{s:I, s:s, s:i, s:s, s:f, s:f, s:n, s:s}", "run", number, "phase", phase,
                     "attempt", attempt, "outcome", "lost", "submitted", 2000.0, "ended", ended,
                     "job_id", "message", "");
}

/* Makes the spans of `news` with these events and runs. Takes all. */
static json_t *spans_of(json_t *events, json_t *runs, size_t *ret_missing)
{
    json_t *workflow = json_loads(workflow_text, 0, NULL), *spans = json_array();
    assert_non_null(workflow);
    const struct spans_source source = {
        .home = "/home/anna/.phased", .workflow = workflow, .runs = runs, .events = events};
    *ret_missing = spans_add(&source, events, spans);
    json_decref(workflow);
    json_decref(runs);
    json_decref(events);
    return spans;
}

static const char *text_of(const json_t *span, const char *member)
{
    const char *text = json_string_value(json_object_get(span, member));
    assert_non_null(text);
    return text;
}

static void members_are_below_their_matrix(void **state)
{
    (void)state;
    size_t missing;
    json_t *spans =
        spans_of(json_pack("[o, o]", event_of(1, 3000, "ladder.1", 0, "phase", "succeeded"),
                           event_of(2, 3001, "ladder", 0, "phase", "succeeded")),
                 json_array(), &missing);
    const json_t *member = json_array_get(spans, 0), *matrix = json_array_get(spans, 1);
    assert_int_equal(json_array_size(spans), 2);
    assert_string_equal(text_of(member, "name"), "ladder.1");
    assert_string_equal(text_of(member, "parentSpanId"), text_of(matrix, "spanId"));
    assert_string_equal(text_of(member, "endTimeUnixNano"), "3000000000000");
    assert_int_equal(strlen(text_of(matrix, "parentSpanId")), 16); /* of the workflow */
    json_decref(spans);
}

static void what_goes_on_has_no_span_yet(void **state)
{
    (void)state;
    size_t missing;
    json_t *spans = spans_of(
        json_pack("[o, o, o]", event_of(1, 3000, "ladder.2", 0, "phase", "failed"), /* retried */
                  event_of(2, 3001, "ladder.1", 0, "phase", "failed"), /* retried, then succeeded */
                  event_of(3, 3002, "ladder.1", 0, "phase", "succeeded")),
        json_array(), &missing);
    assert_int_equal(json_array_size(spans), 1);
    assert_string_equal(text_of(json_array_get(spans, 0), "endTimeUnixNano"), "3002000000000");
    assert_string_equal(text_of(json_array_get(spans, 0), "startTimeUnixNano"), "3001000000000");
    json_decref(spans);
}

static void only_a_run_that_ended_and_a_final_phase_may_be_an_end(void **state)
{
    (void)state;
    static const struct {
        const char *type, *to;
        bool may_be_end;
    } cases[] = {
        {"run", "running", false}, {"run", "ended", true},         {"phase", "active", false},
        {"phase", "failed", true}, {"phase", "cancelled", true},   {"phase", "ended", false},
        {"gate", "failed", false}, {"checkpoint", "ended", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *event = event_of(1, 3000, "ladder", 0, cases[i].type, cases[i].to);
        assert_int_equal(spans_may_be_end(event), cases[i].may_be_end);
        json_decref(event);
    }
}

static void a_workflow_that_failed_without_a_failed_phase_has_no_message(void **state)
{
    (void)state;
    json_t *workflow =
        json_pack("{s:i, s:s, s:s, s:i, s:[{s:s, s:s}]}", "workflow", 7, "name", "w", "state",
                  "failed", "submitted", 1000, "phases", "phase", "first", "state", "skipped");
    json_t *events = json_pack("[o]", event_of(1, 3000, "first", 0, "phase", "skipped"));
    json_t *runs = json_array(), *spans = json_array();
    const struct spans_source source = {
        .home = "/home/anna/.phased", .workflow = workflow, .runs = runs, .events = events};
    assert_int_equal(spans_add(&source, events, spans), 0);
    const json_t *status = json_object_get(json_array_get(spans, 1), "status");
    assert_int_equal(json_integer_value(json_object_get(status, "code")), 2);
    assert_null(json_object_get(status, "message"));
    json_decref(spans);
    json_decref(runs);
    json_decref(events);
    json_decref(workflow);
}

static void a_run_that_the_daemon_does_not_list_is_counted(void **state)
{
    (void)state;
    size_t missing;
    json_t *spans = spans_of(json_pack("[o, o]", event_of(1, 3000, "ladder.1", 4, "run", "ended"),
                                       event_of(2, 3001, "ladder.1", 5, "run", "ended")),
                             json_pack("[o]", run_of(5, "ladder.1", 2, 3000.25)), &missing);
    const json_t *span = json_array_get(spans, 0);
    assert_int_equal(missing, 1);
    assert_int_equal(json_array_size(spans), 1);
    assert_string_equal(text_of(span, "name"), "ladder.1#2");
    assert_string_equal(text_of(span, "endTimeUnixNano"), "3000250000000");
    assert_int_equal(json_array_size(json_object_get(span, "links")), 1);
    json_decref(spans);
}

static void a_clock_that_was_set_back_makes_no_span_that_ends_before_it_begins(void **state)
{
    (void)state;
    size_t missing;
    json_t *spans = spans_of(json_pack("[o]", event_of(1, 3000, "ladder.1", 5, "run", "ended")),
                             json_pack("[o]", run_of(5, "ladder.1", 1, 1500)), &missing);
    const json_t *span = json_array_get(spans, 0);
    assert_string_equal(text_of(span, "startTimeUnixNano"), "1500000000000");
    assert_string_equal(text_of(span, "endTimeUnixNano"), "1500000000000");
    json_decref(spans);
}

static void a_span_has_the_newest_128_events_and_counts_the_others(void **state)
{
    (void)state;
    size_t missing;
    json_t *events = json_array();
    for (int i = 1; i <= 200; i++)
        json_array_append_new(events, event_of(i, 2000 + i, "ladder.1", 5, "checkpoint", ""));
    json_array_append_new(events, event_of(201, 3000, "ladder.1", 5, "run", "ended"));
    json_t *spans = spans_of(events, json_pack("[o]", run_of(5, "ladder.1", 1, 3000)), &missing);
    const json_t *span = json_array_get(spans, 0), *kept = json_object_get(span, "events");
    assert_int_equal(json_array_size(kept), 128);
    assert_int_equal(json_integer_value(json_object_get(span, "droppedEventsCount")), 201 - 128);
    assert_string_equal(text_of(json_array_get(kept, 127), "name"), "run ended");
    json_decref(spans);
}

static void a_request_names_the_service_and_the_home(void **state)
{
    (void)state;
    json_t *spans = json_array();
    char *body = spans_body("training", "/home/anna/.phased", spans);
    static const char begin[] =
        "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{"
        "\"stringValue\":\"training\"}},{\"key\":\"phased.home\",\"value\":{\"stringValue\":\"/"
        "home/"
        "anna/.phased\"}}]},\"scopeSpans\":[{\"scope\":{\"name\":\"phased\",";
    assert_true(text_starts(body, begin));
    free(body);
    json_decref(spans);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_below_their_matrix),
        cmocka_unit_test(what_goes_on_has_no_span_yet),
        cmocka_unit_test(only_a_run_that_ended_and_a_final_phase_may_be_an_end),
        cmocka_unit_test(a_workflow_that_failed_without_a_failed_phase_has_no_message),
        cmocka_unit_test(a_run_that_the_daemon_does_not_list_is_counted),
        cmocka_unit_test(a_clock_that_was_set_back_makes_no_span_that_ends_before_it_begins),
        cmocka_unit_test(a_span_has_the_newest_128_events_and_counts_the_others),
        cmocka_unit_test(a_request_names_the_service_and_the_home),
    };
    return cmocka_run_group_tests_name("spans", tests, NULL, NULL);
}
