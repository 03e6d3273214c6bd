/* What clients must not guess: what a person may do with a phase, and what sentences for people
 * say.
 */
#include "tests/unit/daemon_world.h"

#include "lib/text.h"

#include <stdlib.h>
#include <string.h>

#define PHASE(name, more)                                                                          \
    "  " name ":\n"                                                                                \
    "    resources: {nodes: 1, gpus: 2, time: 1h}\n" more "    run: echo\n"

static const char two_phases[] = "name: two\nphases:\n" PHASE("a", "") PHASE("b", "    after: a\n");

static const char sweep[] =
    "name: sweep\nphases:\n" PHASE("ladder", "    matrix: {SIZE: [1, 2, 3]}\n"
                                             "    best: {max: last(speed)}\n"
                                             "    env: {SIZE: $SIZE}\n");

static void submit(struct world *world, const char *spec, bool is_held)
{
    json_t *body = world_submission(spec, NULL);
    (void)json_object_set_new(body, "hold", json_boolean(is_held));
    json_decref(world_expect(world, 201, "POST", "/v1/workflows", body));
}

static void command(struct world *world, int status, const char *phase, const char *verb)
{
    char *path = text_format("/v1/workflows/1/phases/%s/%s", phase, verb);
    json_decref(world_expect(world, status, "POST", path, NULL));
    free(path);
}

/* The phase answers these verbs, alone and in its workflow, and refuses the others. */
static void expect(struct world *world, unsigned index, const char *phase, const char *verbs)
{
    static const char *const all[] = {"promote", "hold", "release", "resume", "cancel", "retry"};
    char *path = text_format("/v1/workflows/1/phases/%s", phase);
    char *member = text_format("phases.%u.can", index);
    world_await(world, "/v1/workflows/1", member, verbs);
    world_await(world, path, "can", verbs);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (!strstr(verbs, all[i]))
            command(world, 409, phase, all[i]);
    free(path);
    free(member);
}

static void a_phase_takes_the_verbs_that_it_answers(void **state)
{
    struct world *world = *state;
    submit(world, two_phases, true);
    expect(world, 0, "a", "[\"release\",\"cancel\"]");
    expect(world, 1, "b", "[\"hold\",\"cancel\"]");
    world_await(world, "/v1/workflows?brief=1", "workflows.0.phases.0.can",
                "[\"release\",\"cancel\"]");
    command(world, 200, "a", "release");
    expect(world, 0, "a", "[\"hold\",\"cancel\"]");
    command(world, 200, "a", "hold");
    world_await(world, "/v1/workflows/1", "phases.0.state", "held");
    expect(world, 0, "a", "[\"release\",\"cancel\"]");
}

/* Nothing of such a workflow is in memory. A list leaves out what would have to be loaded. */
static void a_workflow_that_has_ended_can_go_on(void **state)
{
    struct world *world = *state;
    submit(world, two_phases, true);
    command(world, 200, "a", "cancel");
    world_await(world, "/v1/workflows/1", "state", "cancelled");
    world_stop(world);
    world_start(world, NULL);
    expect(world, 0, "a", "[\"retry\"]");
    expect(world, 1, "b", "[]");
    world_await(world, "/v1/workflows", "workflows.0.phases.0.can", "(absent)");
    command(world, 200, "a", "retry");
    expect(world, 0, "a", "[\"hold\",\"cancel\"]");
}

static void a_matrix_says_how_many_members_take_a_verb(void **state)
{
    struct world *world = *state;
    submit(world, sweep, false);
    expect(world, 0, "ladder.1", "[\"hold\",\"cancel\"]");
    command(world, 200, "ladder.2", "hold");
    world_await(world, "/v1/workflows/1", "phases.1.state", "held");
    expect(world, 1, "ladder.2", "[\"release\",\"cancel\"]");
    expect(world, 3, "ladder", "[\"hold\",\"release\",\"cancel\"]");
    world_await(world, "/v1/workflows/1", "phases.3.of_members.can",
                "{\"hold\":2,\"release\":1,\"cancel\":3}");
    world_await(world, "/v1/workflows/1/phases/ladder", "of_members.can",
                "{\"hold\":2,\"release\":1,\"cancel\":3}");
    world_await(world, "/v1/workflows/1/phases/ladder", "members.1.can",
                "[\"release\",\"cancel\"]");
}

/* Many questions, because an answer is kept for a short time only. */
static void a_matrix_without_best_has_no_values_so_far(void **state)
{
    static const char spec[] =
        "name: sweep\nphases:\n" PHASE("ladder", "    matrix: {SIZE: [1, 2]}\n"
                                                 "    env: {SIZE: $SIZE}\n");
    struct world *world = *state;
    submit(world, spec, false);
    for (int i = 0; i < 100; i++) {
        json_t *json =
            world_expect(world, 200, "GET", "/v1/workflows/1/phases/ladder?so_far=1", NULL);
        assert_string_equal(world_member(json, "state"), "blocked");
        assert_null(json_object_get(json, "so_far"));
        json_decref(json);
    }
}

/* No metric came, so the gate has no data. */
static void what_messages_say_has_words(void **state)
{
    static const char gated[] =
        "name: gated\nphases:\n" PHASE("a", "    gate: {low: {value: last(loss), below: 1}}\n");
    static const char *const entries[] = {
        "{\"seq\":1,\"time\":1.0,\"type\":\"started\",\"job_id\":101,\"restarts\":0,"
        "\"nodes\":[\"n1\"],\"end_time\":null}",
        "{\"seq\":2,\"time\":1.5,\"type\":\"checkpoint\",\"path\":\"/a\",\"step\":50,\"bytes\":4}",
        "{\"seq\":3,\"time\":2.0,\"type\":\"stopping\",\"why\":\"until\",\"message\":\"enough\"}",
        "{\"seq\":4,\"time\":3.0,\"type\":\"ended\",\"run\":1,\"outcome\":\"succeeded\","
        "\"cause\":null,\"exit_code\":0,\"signal\":0,\"message\":\"enough\",\"started\":1.0,"
        "\"ended\":3.0,\"finals\":{},\"last_step\":null}",
        NULL};
    struct world *world = *state;
    json_t *event;
    size_t i, gates = 0, checkpoints = 0;
    submit(world, gated, false);
    world_await_lines(world, "jobs", 1);
    world_slurm_write(world, "state.101", "running");
    assert_int_equal(world_push(world, "runs/1/a/1", "lead", entries), 4);
    world_await(world, "/v1/workflows/1", "phases.0.state", "held");
    world_await(world, "/v1/workflows/1", "phases.0.run.stop_reason", "until");
    world_await(world, "/v1/workflows/1", "phases.0.run.refused", "false");
    json_t *json = world_expect(world, 200, "GET", "/v1/events?workflow=1&wait=0", NULL);
    json_array_foreach(json_object_get(json, "events"), i, event)
    {
        bool is_gate = text_equal(world_member(event, "type"), "gate");
        bool is_checkpoint = text_equal(world_member(event, "type"), "checkpoint");
        const json_t *result = json_object_get(event, "result");
        const json_t *step = json_object_get(event, "step");
        if (is_gate) {
            assert_string_equal(json_string_value(result), "insufficient");
            assert_true(json_is_null(json_object_get(event, "to")));
        } else {
            assert_true(json_is_null(result));
        }
        if (is_checkpoint)
            assert_int_equal(json_integer_value(step), 50);
        else
            assert_true(json_is_null(step));
        gates += is_gate;
        checkpoints += is_checkpoint;
    }
    assert_int_equal(gates, 1);
    assert_int_equal(checkpoints, 1);
    json_decref(json);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_phase_takes_the_verbs_that_it_answers),
        TEST(a_workflow_that_has_ended_can_go_on),
        TEST(what_messages_say_has_words),
        TEST(a_matrix_without_best_has_no_values_so_far),
        TEST(a_matrix_says_how_many_members_take_a_verb),
    };
    return cmocka_run_group_tests_name("daemon_can", tests, NULL, NULL);
}
