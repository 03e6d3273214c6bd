/* What a person may do: the API says it of each phase, and takes these verbs alone. */
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_phase_takes_the_verbs_that_it_answers),
        TEST(a_workflow_that_has_ended_can_go_on),
        TEST(a_matrix_says_how_many_members_take_a_verb),
    };
    return cmocka_run_group_tests_name("daemon_can", tests, NULL, NULL);
}
