/* What waits before Slurm has it: it is given up at once when nobody wants it any more. */
#include "tests/unit/daemon_world.h"

#include "lib/text.h"

#include <stdlib.h>
#include <time.h>

static const char one_phase[] = "name: one\n"
                                "phases:\n"
                                "  a:\n"
                                "    resources: {nodes: 1, gpus: 2, time: 10m}\n"
                                "    run: echo\n";

static const char rivals[] = "name: rivals\n"
                             "phases:\n"
                             "  a:\n"
                             "    resources: {nodes: 1, gpus: h200:2 | h100:2, time: 10m}\n"
                             "    run: echo\n";

static void submit(struct world *world, const char *spec)
{
    json_decref(world_expect(world, 201, "POST", "/v1/workflows", world_submission(spec, NULL)));
}

static void command(struct world *world, const char *path)
{
    json_decref(world_expect(world, 200, "POST", path, json_object()));
}

/* The first run fails by its node, and the second is to be submitted after a while. */
static void fail_first_run(struct world *world)
{
    long long now = (long long)time(NULL);
    char *started = text_format("{\"seq\":1,\"time\":%lld,\"type\":\"started\",\"job_id\":101,"
                                "\"restarts\":0,\"nodes\":[\"n1\"],\"end_time\":null}",
                                now);
    char *ended = text_format("{\"seq\":2,\"time\":%lld,\"type\":\"ended\",\"run\":1,\"outcome\":"
                              "\"failed\",\"cause\":\"node_fail\",\"exit_code\":1,\"signal\":0,"
                              "\"message\":\"\",\"started\":%lld,\"ended\":%lld,\"finals\":{},"
                              "\"last_step\":1}",
                              now, now - 60, now);
    world_await_lines(world, "jobs", 1);
    world_slurm_write(world, "state.101", "running");
    assert_int_equal(
        world_push(world, "runs/1/a/1", "lead", (const char *const[]){started, ended, NULL}), 2);
    world_await(world, "/v1/workflows/1", "phases.0.run.state", "submitting");
    free(started);
    free(ended);
}

static void a_retry_that_is_cancelled_in_its_back_off_is_never_submitted(void **state)
{
    struct world *world = *state;
    submit(world, one_phase);
    fail_first_run(world);
    command(world, "/v1/workflows/1/cancel");
    world_await(world, "/v1/workflows/1", "phases.0.state", "cancelled");
    assert_int_equal(world_slurm_lines(world, "jobs"), 1);
}

static void a_retry_that_is_held_in_its_back_off_is_never_submitted(void **state)
{
    struct world *world = *state;
    submit(world, one_phase);
    fail_first_run(world);
    command(world, "/v1/workflows/1/phases/a/hold");
    world_await(world, "/v1/workflows/1", "phases.0.state", "held");
    assert_int_equal(world_slurm_lines(world, "jobs"), 1);
}

/* Slurm takes no job: cancelling must not wait for the next try, which would be turned away too. */
static void cancel_at_a_limit(struct world *world, const char *spec, size_t tries)
{
    world_slurm_write(world, "mode", "limited");
    submit(world, spec);
    world_await_lines(world, "turned-away", tries);
    world_await(world, "/v1/workflows/1", "phases.0.run.job_reason", "because the test wants it");
    command(world, "/v1/workflows/1/cancel");
    world_await(world, "/v1/workflows/1", "phases.0.state", "cancelled");
    assert_int_equal(world_slurm_lines(world, "turned-away"), tries);
}

static void what_waits_at_a_limit_of_the_site_is_cancelled_at_once(void **state)
{
    cancel_at_a_limit(*state, one_phase, 1);
}

static void so_are_jobs_of_which_one_would_do(void **state)
{
    cancel_at_a_limit(*state, rivals, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_retry_that_is_cancelled_in_its_back_off_is_never_submitted),
        TEST(a_retry_that_is_held_in_its_back_off_is_never_submitted),
        TEST(what_waits_at_a_limit_of_the_site_is_cancelled_at_once),
        TEST(so_are_jobs_of_which_one_would_do),
    };
    return cmocka_run_group_tests_name("daemon queue", tests, NULL, NULL);
}
