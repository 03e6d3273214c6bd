/* From which checkpoint a run begins. */
#include "tests/unit/daemon_runs.h"

#include "lib/file.h"
#include "lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

/* The first attempt wrote 10, 20 and 30 and was preempted. Then something happened to the files.
 * Checks where the second attempt begins. */
static void spoil(struct world *world, const char *spoilt, unsigned expected)
{
    run_first_attempt(world);
    push(world, "runs/1/a/1", "n1", checkpoint(world, 2, 20), 2);
    push(world, "runs/1/a/1", "n1", checkpoint(world, 3, 30), 3);
    for (unsigned step = 10; *spoilt; step += 10, spoilt++) {
        const char *path = run_checkpoint_path(world, step);
        if (*spoilt == 'd')
            assert_int_equal(unlink(path), 0);
        if (*spoilt == 't')
            assert_int_equal(truncate(path, 3), 0);
    }
    push(world, "runs/1/a/1", "lead", ended(2, "preempted", 31, true), 2);
    expect_next(world, "runs/1/a/1", "/runs/1/a/2");
    push(world, "runs/1/a/2", "lead", started(1), 1);
    expect_run(world, 2, "state", "running");
    expect_run(world, 2, "resume", expected ? run_checkpoint_path(world, expected) : "null");
}

static void a_deleted_or_truncated_checkpoint_is_skipped(void **state)
{
    static const struct {
        const char *spoilt; /* of 10, 20, 30: deleted, truncated */
        unsigned expected;
    } rows[] = {{"...", 30}, {"..t", 20}, {"..d", 20}, {".dt", 10}, {"ddd", 0}, {"d.d", 20}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *made;
        assert_int_equal(world_setup(&made), 0);
        spoil(made, rows[i].spoilt, rows[i].expected);
        assert_int_equal(world_teardown(&made), 0);
    }
}

static void a_run_without_a_whole_checkpoint_begins_from_the_start_and_says_so(void **state)
{
    struct world *world = *state;
    spoil(world, "dtd", 0);
    json_t *json = world_expect(world, 200, "GET", "/v1/events?after=0&workflow=1&wait=0", NULL);
    char *text = json_dumps(json, JSON_COMPACT);
    assert_non_null(strstr(text, "begins anew: no checkpoint is whole any more, not even the one "
                                 "of step 30"));
    free(text);
    json_decref(json);
}

static void expect_resume(struct world *world, unsigned attempt, const char *name, const char *step)
{
    char *file = text_format("runs/1/a/%u/run.json", attempt), *text = world_read(world, file);
    json_t *json = json_loads(text, 0, NULL);
    assert_true(text_ends(world_member(json, "resume.path"), name));
    assert_string_equal(world_member(json, "resume.step"), step);
    json_decref(json);
    free(text);
    free(file);
}

/* The attempt runs in a job of its own, and begins from this checkpoint. */
static void expect_attempt(struct world *world, unsigned attempt, unsigned step)
{
    char *state = text_format("state.%u", 99 + attempt), *number = text_format("%u", step);
    world_await_lines(world, "jobs", attempt - 1);
    world_slurm_write(world, state, "running");
    expect_resume(world, attempt, strrchr(run_checkpoint_path(world, step), '/'), number);
    free(number);
    free(state);
}

static void a_program_that_fails_to_resume_gets_the_checkpoint_before(void **state)
{
    struct world *world = *state;
    spoil(world, "...", 30);
    push(world, "runs/1/a/2", "lead", ended(2, "failed", 3, false), 2);
    expect_attempt(world, 3, 20);
}

static void checkpoints_that_have_all_failed_are_tried_in_turn(void **state)
{
    static const unsigned steps[] = {20, 30, 20}; /* of the third attempt and later */
    struct world *world = *state;
    spoil(world, "d..", 30);
    push(world, "runs/1/a/2", "lead", ended(2, "failed", 3, false), 2);
    for (unsigned i = 0; i < 3; i++) {
        char *run = text_format("runs/1/a/%u", i + 3);
        if (i == 2) { /* three runs without a step */
            world_await(world, "/v1/workflows/1", "phases.0.state", "held");
            json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/phases/a/retry", NULL));
        }
        expect_attempt(world, i + 3, steps[i]);
        push(world, run, "lead", started(0), 1);
        push(world, run, "lead", ended(2, "failed", 3, false), 2);
        free(run);
    }
}

/* The first attempt reported 10 and something else; 36 exists and was not reported. Its agents are
 * gone, and its lead has said how it ended. Checks where the second attempt begins. */
static void leave_untold(struct world *world, char *take_second, const char *data,
                         unsigned expected)
{
    run_first_attempt(world);
    push(world, "runs/1/a/1", "n1", take_second, 2);
    leave(world, "runs/1/a/1", "checkpoints.json",
          text_format("{\"pattern\":\"%s/step_{step}\",\"there\":[]}", world->home));
    assert_int_equal(file_replace(run_checkpoint_path(world, 36), data, strlen(data), 0600, NULL),
                     0);
    const struct utimbuf before = {time(NULL) - 1, time(NULL) - 1};
    assert_int_equal(utime(run_checkpoint_path(world, 36), &before), 0);
    push(world, "runs/1/a/1", "lead", ended(2, "preempted", 31, true), 2);
    expect_next(world, "runs/1/a/1", "/runs/1/a/2");
    push(world, "runs/1/a/2", "lead", started(1), 1);
    expect_run(world, 2, "state", "running");
    expect_run(world, 2, "resume", run_checkpoint_path(world, expected));
}

static void a_checkpoint_that_no_agent_reported_is_found(void **state)
{
    struct world *world = *state;
    leave_untold(world, checkpoint(world, 2, 20), "1234", 36);
    world_await(world, "/v1/workflows/1", "phases.0.checkpoint", run_checkpoint_path(world, 36));
}

/* By its number it is from before the guard failed, but not every program counts steps. */
static void an_unreported_checkpoint_after_a_failed_guard_is_not_used(void **state)
{
    leave_untold(*state, text_format("{\"seq\":2,\"time\":1.5,\"type\":\"suspect\",\"step\":50}"),
                 "1234", 10);
}

static void a_torn_checkpoint_is_not_used(void **state)
{
    leave_untold(*state, checkpoint(*state, 2, 20), "12", 20);
}

static void a_checkpoint_that_may_be_torn_is_tried_once(void **state)
{
    struct world *world = *state;
    leave_untold(world, checkpoint(world, 2, 20), "12??", 36);
    push(world, "runs/1/a/2", "lead", ended(2, "failed", 3, false), 2);
    expect_attempt(world, 3, 20);
}

/* A checkpoint in a file whose name does not have the step. */
static char *last(const struct world *world, unsigned sequence, unsigned step)
{
    char *path = text_format("%s/last.pt", world->home);
    assert_int_equal(file_replace(path, "1234", 4, 0600, NULL), 0);
    char *entry = text_format("{\"seq\":%u,\"time\":%lld,\"type\":\"checkpoint\",\"path\":\"%s\","
                              "\"step\":%u,\"bytes\":4}",
                              sequence, (long long)time(NULL) - 1, path, step);
    free(path);
    return entry;
}

static void a_file_holds_the_checkpoint_of_the_last_run_that_wrote_it(void **state)
{
    struct world *world = *state;
    run_first_attempt(world);
    push(world, "runs/1/a/1", "n1", last(world, 2, 5000), 2);
    push(world, "runs/1/a/1", "lead", ended(2, "failed", 5001, false), 2);
    world_await(world, "/v1/workflows/1", "phases.0.state", "held");
    json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/phases/a/retry",
                             json_pack("{s:s}", "from", "start")));
    world_await_lines(world, "jobs", 2);
    world_slurm_write(world, "state.102", "running");
    push(world, "runs/1/a/2", "lead", started(0), 1);
    push(world, "runs/1/a/2", "n1", last(world, 1, 1000), 1);
    push(world, "runs/1/a/2", "lead", ended(2, "preempted", 1001, false), 2);
    world_await_lines(world, "jobs", 3);
    expect_resume(world, 3, "/last.pt", "1000");
}

static void a_suspect_checkpoint_that_a_person_chose_is_used_after_a_restart(void **state)
{
    struct world *world = *state;
    run_first_attempt(world);
    push(world, "runs/1/a/1", "n1",
         text_format("{\"seq\":2,\"time\":1.5,\"type\":\"suspect\",\"step\":20}"), 2);
    push(world, "runs/1/a/1", "n1", checkpoint(world, 3, 30), 3);
    push(world, "runs/1/a/1", "lead", ended(2, "failed", 31, false), 2);
    world_await(world, "/v1/workflows/1", "phases.0.state", "held");
    world_slurm_write(world, "state.101", "failed");
    world_slurm_write(world, "mode", "down");
    json_t *json = world_expect(world, 404, "POST", "/v1/workflows/1/phases/a/retry",
                                json_pack("{s:s}", "from", "25"));
    assert_string_equal(
        world_member(json, "error.message"),
        "1/a has no whole checkpoint of step 25; the others are 30 (suspect), 10, and start");
    json_decref(json);
    json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/phases/a/retry",
                             json_pack("{s:s}", "from", "30")));
    expect_run(world, 2, "state", "submitting");
    world_kill(world);
    world_slurm_write(world, "mode", "up");
    world_start(world, NULL);
    world_await_lines(world, "jobs", 2);
    expect_resume(world, 2, "/step_30", "30");
}

/* The program of the second attempt has nothing left to do, so it prints no metric. */
static void the_step_of_a_run_is_at_least_that_of_its_checkpoint(void **state)
{
    struct world *world = *state;
    char *spec = text_format("%s    gate: {whole: step >= 10}\n", one_phase);
    run_first_attempt_of(world, spec);
    free(spec);
    push(world, "runs/1/a/1", "lead", ended(2, "preempted", 10, true), 2);
    expect_next(world, "runs/1/a/1", "/runs/1/a/2");
    push(world, "runs/1/a/2", "lead", started(1), 1);
    push(world, "runs/1/a/2", "lead",
         text_format("{\"seq\":2,\"time\":%lld,\"type\":\"ended\",\"run\":2,\"job_id\":101,"
                     "\"restarts\":1,\"outcome\":\"succeeded\",\"exit_code\":0,\"signal\":0,"
                     "\"message\":\"\",\"started\":%lld,\"ended\":%lld,\"finals\":{},"
                     "\"last_step\":null}",
                     (long long)time(NULL), (long long)time(NULL), (long long)time(NULL)),
         2);
    world_await(world, "/v1/workflows/1", "phases.0.state", "succeeded");
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deleted_or_truncated_checkpoint_is_skipped),
        TEST(a_run_without_a_whole_checkpoint_begins_from_the_start_and_says_so),
        TEST(a_program_that_fails_to_resume_gets_the_checkpoint_before),
        TEST(checkpoints_that_have_all_failed_are_tried_in_turn),
        TEST(a_checkpoint_that_no_agent_reported_is_found),
        TEST(an_unreported_checkpoint_after_a_failed_guard_is_not_used),
        TEST(a_torn_checkpoint_is_not_used),
        TEST(a_checkpoint_that_may_be_torn_is_tried_once),
        TEST(a_suspect_checkpoint_that_a_person_chose_is_used_after_a_restart),
        TEST(the_step_of_a_run_is_at_least_that_of_its_checkpoint),
        TEST(a_file_holds_the_checkpoint_of_the_last_run_that_wrote_it),
    };
    return cmocka_run_group_tests_name("daemon resumes", tests, NULL, NULL);
}
