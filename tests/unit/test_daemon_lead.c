/* Runs whose lead has died with the job: their journals and Slurm say how they ended. */
#include "tests/unit/daemon_runs.h"

#include "lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* The first run has begun. */
static void begin(struct world *world)
{
    json_decref(
        world_expect(world, 201, "POST", "/v1/workflows", world_submission(one_phase, NULL)));
    world_await_lines(world, "jobs", 1);
    world_slurm_write(world, "state.101", "running");
    push(world, "runs/1/a/1", "lead", started(0), 1);
}

#define METRIC                                                                                     \
    "{\"seq\": 1, \"time\": 1, \"type\": \"metric\", \"step\": 1, \"values\": {\"loss\": 8}}"

/* The lead has died with the job, and `stopping` (or NULL) may be its last entry. */
static const char *outcome_after(struct world *world, const char *exited, const char *stopping)
{
    static char outcome[64];
    begin(world);
    world_kill(world);
    char *first = started(0);
    leave(world, "runs/1/a/1", "journal/n1.jsonl", text_format(METRIC "\n%s", exited));
    leave(world, "runs/1/a/1", "journal/lead.jsonl",
          text_format("%s%s", first, stopping ? stopping : ""));
    free(first);
    world_slurm_write(world, "state.101", "failed");
    world_start(world, NULL);
    for (int i = 0; i < 4000 && (i == 0 || text_equal(outcome, "null")); i++) {
        json_t *run = world_expect(world, 200, "GET", "/v1/workflows/1/phases/a/runs/1", NULL);
        (void)snprintf(outcome, sizeof outcome, "%s", world_member(run, "outcome"));
        json_decref(run);
        world_pause();
    }
    return outcome;
}

#define DONE    "{\"seq\": 2, \"time\": 2, \"type\": \"exited\", \"ranks\": [], \"done\": true}"
#define CUT_OFF "{\"seq\": 2, \"time\": 2, \"type\": \"exited\", \"ranks\": [], \"done\": false}"
#define SUSPECT                                                                                    \
    "{\"seq\": 2, \"time\": 2, \"type\": \"suspect\", \"step\": 8, \"message\": \"NaN\"}\n"        \
    "{\"seq\": 3, \"time\": 2, \"type\": \"exited\", \"ranks\": [], \"done\": true}"
#define STOPPING "\n{\"seq\": 2, \"time\": 2, \"type\": \"stopping\", \"why\": \"guard\"}"

static void a_run_whose_lead_died_after_its_end_has_succeeded(void **state)
{
    assert_string_equal(outcome_after(*state, DONE, NULL), "succeeded");
    world_await(*state, "/v1/workflows/1", "phases.0.state", "succeeded");
}

static void a_run_whose_lead_died_before_its_end_is_lost(void **state)
{
    assert_string_equal(outcome_after(*state, CUT_OFF, NULL), "lost");
}

static void a_run_whose_lead_died_after_bad_rows_is_lost(void **state)
{
    assert_string_equal(outcome_after(*state, SUSPECT, NULL), "lost");
}

static void a_run_whose_lead_died_while_stopping_is_lost(void **state)
{
    assert_string_equal(outcome_after(*state, DONE, STOPPING), "lost");
}

static void slurm_says_how_long_a_run_lasted_while_the_daemon_was_away(void **state)
{
    struct world *world = *state;
    begin(world);
    json_t *run = world_expect(world, 200, "GET", "/v1/workflows/1/phases/a/runs/1", NULL);
    char *start = text_format("%.0f\n", json_number_value(json_object_get(run, "started")));
    world_slurm_write(world, "start.101", start); /* the clocks of both agree */
    json_decref(run);
    free(start);
    world_kill(world);
    long long end = (long long)time(NULL) + 1;
    char *text = text_format("%lld\n", end);
    world_slurm_write(world, "end.101", text);
    world_slurm_write(world, "state.101", "failed");
    free(text);
    while (time(NULL) <= end)
        world_pause();
    world_start(world, NULL);
    world_await(world, "/v1/workflows/1/phases/a/runs/1", "outcome", "lost");
    run = world_expect(world, 200, "GET", "/v1/workflows/1/phases/a/runs/1", NULL);
    assert_true(json_number_value(json_object_get(run, "ended")) == (double)end);
    json_decref(run);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_run_whose_lead_died_after_its_end_has_succeeded),
        TEST(a_run_whose_lead_died_before_its_end_is_lost),
        TEST(a_run_whose_lead_died_after_bad_rows_is_lost),
        TEST(a_run_whose_lead_died_while_stopping_is_lost),
        TEST(slurm_says_how_long_a_run_lasted_while_the_daemon_was_away),
    };
    return cmocka_run_group_tests_name("daemon: dead leads", tests, NULL, NULL);
}
