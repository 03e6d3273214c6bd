/* The results of preflights in the record: they can be read again, and say until when a node is
 * left out. */
#include "tests/unit/record.h"

#include "daemon/store/answers.h"
#include "lib/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct found {
    struct record record;
    struct workflow *workflow;
    struct run *run;
};

static void found_open(struct found *found)
{
    record_open(&found->record);
    found->workflow = record_workflow(1);
    record_insert(&found->record, found->workflow);
    found->run = record_add_run(&found->record, &found->workflow->phases[0], 10, 20);
}

static void found_close(struct found *found)
{
    workflow_free(found->workflow);
    record_close(&found->record);
}

static int add(struct found *found, const char *node, const char *outcome, const char *reason,
               const char *rows)
{
    struct error err;
    json_t *json = json_loads(rows, 0, NULL);
    const struct store_preflight preflight = {.run = 10,
                                              .node = node,
                                              .level = "quick",
                                              .outcome = outcome,
                                              .reason = reason,
                                              .lasted_ms = 500,
                                              .time_ms = 2000,
                                              .rows = json};
    record_begin(&found->record);
    int result = store_preflight_add(found->record.store, &preflight, &err);
    record_commit(&found->record);
    json_decref(json);
    return result;
}

static json_t *answer(struct found *found)
{
    json_t *json = NULL;
    struct error err;
    assert_int_equal(answer_preflight(found->record.store, 10, &json, &err), 0);
    return json;
}

static void failed_nodes_come_first_and_say_how_long_they_are_left_out(void **state)
{
    (void)state;
    struct found found;
    struct error err;
    int64_t until_ms;
    found_open(&found);
    assert_int_equal(add(&found, "n1", "passed", "", "[]"), 0);
    assert_int_equal(add(&found, "n2", "could not tell", "gpus: no GPU", "[]"), 0);
    assert_int_equal(add(&found, "n3", "failed", "gpus: 7", "[]"), 0);
    const struct store_node_failure failure = {
        .node = "n3", .cause = "preflight", .run = 10, .began_ms = 1, .message = "bad"};
    record_begin(&found.record);
    assert_int_equal(
        store_node_failed(found.record.store, &failure, 1790000000000, &until_ms, &err), 0);
    record_commit(&found.record);
    json_t *json = answer(&found);
    json_t *expected = json_pack(
        "[{s:s, s:s, s:b, s:s, s:s, s:f, s:f, s:f}, {s:s, s:s, s:b, s:s, s:s, s:f, s:f, s:n},"
        " {s:s, s:s, s:b, s:s, s:s, s:f, s:f, s:n}]",
        "node", "n3", "level", "quick", "observed", 0, "outcome", "failed", "reason", "gpus: 7",
        "seconds", 0.5, "time", 2.0, "excluded_until", (double)until_ms / 1000, "node", "n2",
        "level", "quick", "observed", 0, "outcome", "could not tell", "reason", "gpus: no GPU",
        "seconds", 0.5, "time", 2.0, "excluded_until", "node", "n1", "level", "quick", "observed",
        0, "outcome", "passed", "reason", "", "seconds", 0.5, "time", 2.0, "excluded_until");
    assert_true(json_equal(json, expected));
    json_decref(json);
    json_decref(expected);
    found_close(&found);
}

static void a_repeated_entry_replaces_its_rows(void **state)
{
    (void)state;
    struct found found;
    found_open(&found);
    assert_int_equal(add(&found, "n1", "failed", "x",
                         "[{\"name\": \"gpus\", \"outcome\": \"failed\", \"text\": \"7\"},"
                         " {\"name\": \"model\", \"outcome\": \"passed\", \"text\": \"H200\"}]"),
                     0);
    assert_int_equal(add(&found, "n1", "passed", "",
                         "[{\"name\": \"gpus\", \"outcome\": \"passed\", \"text\": \"8\"},"
                         " {\"name\": \"model\", \"outcome\": \"passed\", \"text\": \"H200\"}]"),
                     0);
    record_assert(&found.record, "SELECT outcome || ifnull(reason, '') FROM preflight", "passed");
    record_assert(&found.record, "SELECT name || text FROM preflight_row ORDER BY position",
                  "gpus8,modelH200");
    record_assert(&found.record, "SELECT address || node || seconds FROM v_preflight",
                  "1/validate#1n10.5");
    found_close(&found);
}

static void an_entry_without_a_verdict_is_refused_and_spoils_nothing(void **state)
{
    static const char *const outcomes[] = {NULL, "", "good", "unknown"};
    (void)state;
    struct found found;
    found_open(&found);
    for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++)
        assert_int_equal(add(&found, "n1", outcomes[i], "", "[]"), -EINVAL);
    assert_int_equal(add(&found, "n1", "passed", "",
                         "[7, {\"name\": \"gpus\"}, {\"name\": \"model\", \"outcome\": \"maybe\"},"
                         " {\"outcome\": \"passed\"}]"),
                     0);
    record_assert(&found.record, "SELECT count(*) FROM preflight_row", "0");
    found_close(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failed_nodes_come_first_and_say_how_long_they_are_left_out),
        cmocka_unit_test(a_repeated_entry_replaces_its_rows),
        cmocka_unit_test(an_entry_without_a_verdict_is_refused_and_spoils_nothing),
    };
    return cmocka_run_group_tests_name("record preflight", tests, NULL, NULL);
}
