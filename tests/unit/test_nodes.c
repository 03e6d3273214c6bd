/* Nodes that new jobs do not use: for how long, for which failures, and which nodes count. */
#include "tests/unit/record.h"

#include "daemon/store/answers.h"
#include "daemon/store/nodes.h"
#include "lib/text.h"

#include <stdlib.h>

enum { HOUR_MS = 3600 * 1000 };

static const int64_t begin_ms = 1790000000000;

struct nodes_world {
    struct record record;
    struct workflow *workflow;
};

static int setup(void **state)
{
    static struct nodes_world world;
    record_open(&world.record);
    world.workflow = record_workflow(7);
    world.workflow->phases[0].id = 1;
    world.workflow->phases[1].id = 2;
    record_insert(&world.record, world.workflow);
    (void)record_add_run(&world.record, &world.workflow->phases[0], 1, 1);
    *state = &world;
    return 0;
}

static int teardown(void **state)
{
    struct nodes_world *world = *state;
    record_close(&world->record);
    workflow_free(world->workflow);
    return 0;
}

/* A run that began at `began_ms` fails at `now_ms` because of n1. Returns for how long that
 * excludes n1. */
static int64_t fail_node(struct nodes_world *world, int64_t began_ms, int64_t now_ms)
{
    struct error err;
    struct store_node_failure failure = {
        .node = "n1", .cause = "node_fail", .run = 1, .began_ms = began_ms, .message = "gone"};
    int64_t until_ms;
    record_begin(&world->record);
    assert_int_equal(store_node_failed(world->record.store, &failure, now_ms, &until_ms, &err), 0);
    record_commit(&world->record);
    return until_ms ? until_ms - now_ms : 0;
}

static void exclude(struct nodes_world *world, const char *node, int64_t until_ms, int64_t now_ms)
{
    struct error err;
    record_begin(&world->record);
    assert_int_equal(
        store_node_exclude(world->record.store, node, "because", until_ms, now_ms, &err), 0);
    record_commit(&world->record);
}

static void clear(struct nodes_world *world, int64_t now_ms, bool expected)
{
    struct error err;
    bool was_free;
    record_begin(&world->record);
    assert_int_equal(store_node_clear(world->record.store, "n1", now_ms, &was_free, &err), 0);
    assert_int_equal(was_free, expected);
    record_commit(&world->record);
}

static void assert_excluded(struct nodes_world *world, int64_t now_ms, const char *expected)
{
    struct error err;
    char *nodes = NULL;
    assert_int_equal(store_nodes_excluded(world->record.store, now_ms, &nodes, &err), 0);
    assert_string_equal(nodes ? nodes : "", expected);
    free(nodes);
}

static void each_repetition_within_a_week_doubles_the_time(void **state)
{
    static const int64_t hours[] = {2, 4, 8, 16, 32, 48, 48};
    int64_t now_ms = begin_ms;
    for (size_t i = 0; i < sizeof hours / sizeof *hours; i++) {
        assert_int_equal(fail_node(*state, now_ms - 1, now_ms), hours[i] * HOUR_MS);
        assert_excluded(*state, now_ms + hours[i] * HOUR_MS - 1, "n1");
        assert_excluded(*state, now_ms + hours[i] * HOUR_MS, "");
        now_ms += (int64_t)6 * 24 * HOUR_MS;
    }
    now_ms += (int64_t)24 * HOUR_MS; /* a week after the last failure */
    assert_int_equal(fail_node(*state, now_ms - 1, now_ms), 2 * HOUR_MS);
}

static void runs_that_one_failure_takes_down_count_once(void **state)
{
    assert_int_equal(fail_node(*state, begin_ms - 5000, begin_ms), 2 * HOUR_MS);
    assert_int_equal(fail_node(*state, begin_ms - 9000, begin_ms + 1000), 2 * HOUR_MS - 1000);
    /* A run that was sent there all the same is another failure. */
    assert_int_equal(fail_node(*state, begin_ms + 2000, begin_ms + 3000), 4 * HOUR_MS);
}

static void a_cleared_node_is_used_and_forgotten(void **state)
{
    (void)fail_node(*state, begin_ms - 1, begin_ms);
    (void)fail_node(*state, begin_ms + 1, begin_ms + 2);
    clear(*state, begin_ms + 1000, false);
    assert_excluded(*state, begin_ms + 1001, "");
    assert_int_equal(fail_node(*state, begin_ms + 1500, begin_ms + 2000), 2 * HOUR_MS);
    clear(*state, begin_ms + 3 * HOUR_MS, true); /* nothing excludes n1, so nothing happens */
}

static void the_decision_of_a_person_replaces_the_older_one(void **state)
{
    exclude(*state, "n1", 0, begin_ms);
    exclude(*state, "n3", begin_ms + 1000, begin_ms);
    assert_excluded(*state, begin_ms + 999, "n1,n3");
    assert_excluded(*state, begin_ms + (int64_t)1000 * HOUR_MS, "n1");
    assert_int_equal(fail_node(*state, begin_ms + 1, begin_ms + 2), 0); /* it stays until `clear` */
    exclude(*state, "n1", begin_ms + 5 * HOUR_MS, begin_ms + 10);
    assert_excluded(*state, begin_ms + 5 * HOUR_MS - 1, "n1");
    assert_excluded(*state, begin_ms + 5 * HOUR_MS, "");
    /* A failure never shortens the time, and it counts as the first failure. */
    assert_int_equal(fail_node(*state, begin_ms + 20, begin_ms + 30), 5 * HOUR_MS - 30);
}

static void the_end_of_a_run_excludes_its_node_and_says_so(void **state)
{
    struct nodes_world *world = *state;
    struct run *run = world->workflow->runs[0];
    run->outcome = OUTCOME_FAILED;
    run->cause = CAUSE_NODE_FAIL;
    run->started_ms = record_now_ms() - 1000;
    (void)snprintf(run->message, sizeof run->message, "the job step was lost");
    struct core_effect blame = {.kind = FX_BLAME_NODE, .workflow = world->workflow, .run = run};
    (void)snprintf(blame.message, sizeof blame.message, "n1");
    record_apply(&world->record, &blame);
    record_assert(&world->record,
                  "SELECT node || cause || run || message || count FROM node_health",
                  "n1node_fail1the job step was lost1");
    exclude(world, "n3", 0, record_now_ms());
    record_assert(&world->record, "SELECT node FROM v_node", "n3"); /* the other one is over */
    record_assert(&world->record, "SELECT type || ': ' || message FROM event",
                  "warning: n1 is left out for 120 minutes");
    struct error err;
    json_t *json = NULL;
    assert_int_equal(answer_nodes(world->record.store, record_now_ms(), &json, &err), 0);
    json_t *row = json_array_get(json_object_get(json, "nodes"), 0);
    assert_string_equal(json_string_value(json_object_get(row, "run")), "7/validate#1");
    assert_int_equal(json_integer_value(json_object_get(row, "count")), 1);
    json_decref(json);
}

static void lists_of_nodes_are_written_out(void **state)
{
    (void)state;
    static const struct {
        const char *list, *expected;
    } cases[] = {
        {"", "[]"},
        {"n1", "[\"n1\"]"},
        {"n[1-3,7],gpu", "[\"n1\",\"n2\",\"n3\",\"n7\",\"gpu\"]"},
        {"gpu[08-11]-ib", "[\"gpu08-ib\",\"gpu09-ib\",\"gpu10-ib\",\"gpu11-ib\"]"},
        {"r[1-2]n[1,3]", "[\"r1n1\",\"r1n3\",\"r2n1\",\"r2n3\"]"},
        {"n[", "[\"n[\"]"},
        {"n[]", "[\"n[]\"]"},
        {"n[a-b],m", "[\"n[a-b]\",\"m\"]"},
        {"n[3-1]", "[\"n[3-1]\"]"},
        {"a,,b,", "[\"a\",\"b\"]"},
        {"n[0-18446744073709551610]", "[\"n[0-18446744073709551610]\"]"},
        {"n[1-2]\xc3", "[\"n1?\",\"n2?\"]"}, /* cut within a letter */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *json = nodes_expand(cases[i].list);
        char *text = json_dumps(json, JSON_COMPACT);
        assert_string_equal(text, cases[i].expected);
        json_decref(json);
        free(text);
    }
    json_t *many = nodes_expand("n[0-4294967295],m[1-9]x[0-4294967295]");
    assert_int_equal(json_array_size(many), NODES_COUNT_MAX);
    json_decref(many);
    /* The lengths of lists and names are bounded. */
    struct text text = {0};
    for (int i = 0; i < 100000; i++)
        text_add(&text, "[1]");
    json_t *deep = nodes_expand(text_string(&text));
    assert_int_equal(json_array_size(deep), 1);
    json_decref(deep);
    text_fini(&text);
    json_t *cut = nodes_expand("n[0-999999999999999999]\xc3,m");
    assert_int_equal(json_array_size(cut), NODES_COUNT_MAX);
    json_decref(cut);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(each_repetition_within_a_week_doubles_the_time),
        TEST(runs_that_one_failure_takes_down_count_once),
        TEST(a_cleared_node_is_used_and_forgotten),
        TEST(the_decision_of_a_person_replaces_the_older_one),
        TEST(the_end_of_a_run_excludes_its_node_and_says_so),
        cmocka_unit_test(lists_of_nodes_are_written_out),
    };
    return cmocka_run_group_tests_name("nodes", tests, NULL, NULL);
}
