/* Jobs that are requeued, and leads that go on alone while the daemon is away. */
#include "tests/unit/daemon_runs.h"

#include "lib/file.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void make_folder(struct world *world, const char *name)
{
    char *path = text_format("%s/%s", world->home, name);
    assert_int_equal(file_make_folders(path, 0700, NULL), 0);
    free(path);
}

/* Leaves a journal of one or two entries. */
static void leave_journal(struct world *world, const char *folder, const char *node,
                          char *take_first, char *take_second)
{
    char *name = text_format("journal/%s.jsonl", node);
    leave(world, folder, name,
          take_second ? text_format("%s\n%s", take_first, take_second) : xstrdup(take_first));
    free(name);
    free(take_first);
    free(take_second);
}

/* What a lead that goes on alone makes of the first attempt's folder. `job` NULL: the same job. */
static void make_alone(struct world *world, unsigned attempt, const char *resume, unsigned step,
                       const char *job)
{
    char *folder = text_format("runs/1/a/%u", attempt);
    char *journal = text_format("%s/journal", folder);
    char *text = world_read(world, "runs/1/a/1/run.json");
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    (void)json_object_set_new(json, "run", json_integer(0));
    (void)json_object_set_new(json, "attempt", json_integer(attempt));
    (void)json_object_set_new(json, "run_dir", json_sprintf("%s/%s", world->home, folder));
    (void)json_object_set_new(json, "alone", json_true());
    (void)json_object_set_new(json, "resume",
                              resume ? json_pack("{s:s, s:i}", "path", resume, "step", (int)step)
                                     : json_null());
    if (job)
        (void)json_object_set_new(json, "job_dir", json_string(job));
    make_folder(world, journal);
    leave(world, folder, "run.json", json_dumps(json, 0));
    json_decref(json);
    free(text);
    free(journal);
    free(folder);
}

static void requeue(struct world *world, unsigned restarts)
{
    char *count = text_format("%u", restarts);
    char *requeued = text_format("%lld", (long long)time(NULL));
    char *eligible = text_format("%lld", (long long)time(NULL) + 121);
    world_slurm_write(world, "reason.101", "BeginTime");
    world_slurm_write(world, "requeued.101", requeued);
    world_slurm_write(world, "eligible.101", eligible);
    world_slurm_write(world, "state.101", "pending");
    world_slurm_write(world, "restarts.101", count);
    free(eligible);
    free(requeued);
    free(count);
}

/* --- Claims ----------------------------------------------------------------------------------- */

static void a_preempted_run_continues_in_its_job(void **state)
{
    struct world *world = *state;
    run_first_attempt(world);
    push(world, "runs/1/a/1", "lead", ended(2, "preempted", 12, true), 2);
    requeue(world, 1);
    world_await_lines(world, "begun", 1); /* and no job was submitted or cancelled */
    assert_int_equal(world_slurm_lines(world, "jobs"), 1);
    assert_int_equal(world_slurm_lines(world, "cancelled"), 0);
    char *text = world_read(world, "slurm/eligible.101");
    assert_in_range(strtoll(text, NULL, 10), time(NULL) - 20, time(NULL) + 2);
    free(text);

    world_slurm_write(world, "state.101", "running");
    expect_next(world, "runs/1/a/1", "/runs/1/a/2");
    text = world_read(world, "runs/1/a/2/run.json");
    json_t *json = json_loads(text, 0, NULL);
    assert_string_equal(world_member(json, "resume.path"), run_checkpoint_path(world, 10));
    assert_string_equal(world_member(json, "run"), "2");
    json_decref(json);
    free(text);
    push(world, "runs/1/a/2", "lead", started(1), 1);
    expect_run(world, 2, "state", "running");
    expect_run(world, 2, "job_id", "101");
    expect_run(world, 2, "first_step", "10");
}

static void a_job_that_still_waits_gets_its_begin_time_again(void **state)
{
    struct world *world = *state;
    run_first_attempt(world);
    push(world, "runs/1/a/1", "lead", ended(2, "timed_out", 12, true), 2);
    requeue(world, 1);
    world_await_lines(world, "begun", 1);
    requeue(world, 1); /* Slurm set its time after phased */
    world_await_lines(world, "begun", 2);
}

static void a_requeued_job_that_a_person_puts_off_waits(void **state)
{
    struct world *world = *state;
    run_first_attempt(world);
    push(world, "runs/1/a/1", "lead", ended(2, "timed_out", 12, true), 2);
    requeue(world, 1);
    world_await_lines(world, "begun", 1);
    char *eligible = text_format("%lld", (long long)time(NULL) + 7200);
    world_slurm_write(world, "eligible.101", eligible);
    size_t polls = world_slurm_lines(world, "polls");
    world_await_least(world, "polls", polls + 2);
    assert_int_equal(world_slurm_lines(world, "begun"), 1);
    free(eligible);
}

/* The controller was killed, and has forgotten the start. It gives equal answers before and after
 * the end of the run. */
static void a_job_that_waits_while_its_run_ends_is_cancelled(void **state)
{
    struct world *world = *state;
    run_first_attempt(world);
    world_stop(world);
    world_slurm_write(world, "state.101", "pending");
    world_start(world, NULL); /* it polls at once */
    expect_run(world, 1, "job_state", "pending");
    push(world, "runs/1/a/1", "lead", ended(2, "preempted", 12, false), 2);
    world_await_lines(world, "jobs", 2);
    world_await_lines(world, "cancelled", 1);
    char *cancelled = world_read(world, "slurm/cancelled");
    assert_string_equal(cancelled, "101\n");
    free(cancelled);
}

static void a_job_held_after_a_failed_launch_is_replaced(void **state)
{
    struct world *world = *state;
    json_decref(
        world_expect(world, 201, "POST", "/v1/workflows", world_submission(one_phase, NULL)));
    world_await_lines(world, "jobs", 1);
    world_slurm_write(world, "reason.101", "launch failed requeued held");
    world_slurm_write(world, "held.101", "1");
    world_await_lines(world, "cancelled", 1);
    world_await_lines(world, "jobs", 2);
    expect_run(world, 1, "cause", "launch");
    json_t *json = world_expect(world, 200, "GET", "/v1/workflows/1/phases/a/runs/1", NULL);
    assert_non_null(strstr(world_member(json, "message"), "launch failed requeued held"));
    json_decref(json);
}

static void a_job_that_a_person_holds_waits_and_says_so(void **state)
{
    struct world *world = *state;
    json_decref(
        world_expect(world, 201, "POST", "/v1/workflows", world_submission(one_phase, NULL)));
    world_await_lines(world, "jobs", 1);
    world_slurm_write(world, "reason.101", "JobHeldUser");
    world_slurm_write(world, "held.101", "1");
    world_await(world, "/v1/workflows/1", "phases.0.run.job_waits_for",
                "the job is held in Slurm, by its owner (JobHeldUser)");
    assert_int_equal(world_slurm_lines(world, "cancelled"), 0);
    assert_int_equal(world_slurm_lines(world, "jobs"), 1);
}

static void a_run_in_a_requeued_job_ends_by_the_files_of_its_lead(void **state)
{
    struct world *world = *state;
    run_first_attempt(world);
    world_kill(world);
    leave(world, "runs/1/a/1", "outcome.json", ended(0, "preempted", 12, true));
    requeue(world, 1);
    world_start(world, NULL);
    expect_run(world, 1, "outcome", "preempted");
    world_await_lines(world, "begun", 1);
    expect_next(world, "runs/1/a/1", "/runs/1/a/2");
    assert_int_equal(world_slurm_lines(world, "jobs"), 1);
}

/* Two attempts that the lead made alone: one is over, and one goes on. */
static void leave_two_alone(struct world *world)
{
    leave(world, "runs/1/a/1", "outcome.json", ended(0, "preempted", 12, true));
    make_alone(world, 2, "/out/step_12", 12, NULL);
    leave_journal(world, "runs/1/a/2", "lead", started(1), ended(2, "timed_out", 20, true));
    leave_journal(world, "runs/1/a/2", "n1", checkpoint(world, 1, 20), NULL);
    leave(world, "runs/1/a/2", "outcome.json", ended(0, "timed_out", 20, true));
    make_alone(world, 3, "/out/step_19", 19, NULL); /* the newest file was not whole */
    leave_journal(world, "runs/1/a/3", "lead", started(2), NULL);
    leave_journal(world, "runs/1/a/3", "n1", checkpoint(world, 1, 25), NULL);
}

static void expect_two_adopted(struct world *world)
{
    expect_run(world, 3, "state", "running");
    expect_run(world, 1, "outcome", "preempted");
    expect_run(world, 2, "outcome", "timed_out");
    expect_run(world, 2, "first_step", "12");
    expect_run(world, 3, "first_step", "19"); /* where it resumed, not the newest */
    expect_run(world, 3, "resume", "/out/step_19");
    expect_run(world, 3, "job_id", "101");
    world_await(world, "/v1/workflows/1", "phases.0.checkpoint", run_checkpoint_path(world, 25));
    assert_int_equal(world_slurm_lines(world, "jobs"), 1);
    assert_int_equal(world_slurm_lines(world, "cancelled"), 0);

    char *text = world_read(world, "runs/1/a/3/run.json");
    json_t *json = json_loads(text, 0, NULL);
    assert_string_equal(world_member(json, "run"), "3");
    assert_string_equal(world_member(json, "alone"), "(absent)");
    assert_string_equal(world_member(json, "resume.path"), "/out/step_19");
    json_decref(json);
    free(text);
    expect_next(world, "runs/1/a/1", "/runs/1/a/3");
    push(world, "runs/1/a/3", "lead", started(2), 1); /* the record has all of it */
    push(world, "runs/1/a/3", "lead", ended(2, "succeeded", 30, false), 2);
    expect_run(world, 3, "outcome", "succeeded");
    world_slurm_write(world, "state.101", "completed");
    world_await(world, "/v1/workflows/1", "state", "succeeded");
}

static void runs_that_a_lead_made_alone_are_adopted_in_order(void **state)
{
    struct world *world = *state;
    run_first_attempt(world);
    world_kill(world);
    leave_two_alone(world);
    world_slurm_write(world, "restarts.101", "2");
    world_start(world, NULL);
    expect_two_adopted(world);
}

static void a_kill_during_an_adoption_adopts_once(void **state)
{
    static const char *const faults[] = {
        "read-outcome:1:before", "read-outcome:1:after", "tell-next:1:before", "tell-next:1:after",
        "tell-next:2:before",    "tell-next:2:after",    "commit:1:after",     "commit:2:after",
        "commit:3:after",        "commit:4:after",
    };
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        void *made;
        assert_int_equal(world_setup(&made), 0);
        struct world *world = made;
        run_first_attempt(world);
        world_kill(world);
        leave_two_alone(world);
        world_slurm_write(world, "restarts.101", "2");
        world_start(world, faults[i]);
        world_await_crash(world);
        world_start(world, NULL);
        expect_two_adopted(world);
        assert_int_equal(world_teardown(&made), 0);
    }
}

static void a_kill_around_begin_job_begins_the_job_after_the_restart(void **state)
{
    static const char *const faults[] = {"begin-job:1:before", "begin-job:1:after"};
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        void *made;
        assert_int_equal(world_setup(&made), 0);
        struct world *world = made;
        world_stop(world);
        world_start(world, faults[i]);
        run_first_attempt(world);
        push(world, "runs/1/a/1", "lead", ended(2, "preempted", 12, true), 2);
        requeue(world, 1);
        world_await_crash(world);
        requeue(world, 1);
        size_t begun = world_slurm_lines(world, "begun");
        world_start(world, NULL);
        world_await_lines(world, "begun", begun + 1);
        world_slurm_write(world, "reason.101", "Priority");
        expect_run(world, 2, "job_reason", "Priority"); /* a later poll has seen the job */
        assert_int_equal(world_slurm_lines(world, "begun"), begun + 1);
        assert_int_equal(world_slurm_lines(world, "jobs"), 1);
        assert_int_equal(world_teardown(&made), 0);
    }
}

static void a_training_that_ended_without_the_daemon_is_promoted(void **state)
{
    struct world *world = *state;
    run_first_attempt(world);
    world_kill(world);
    leave(world, "runs/1/a/1", "outcome.json", ended(0, "preempted", 12, true));
    make_alone(world, 2, NULL, 0, NULL);
    leave_journal(world, "runs/1/a/2", "lead", started(1), ended(2, "succeeded", 30, false));
    leave_journal(world, "runs/1/a/2", "n1", checkpoint(world, 1, 30), NULL);
    leave(world, "runs/1/a/2", "outcome.json", ended(0, "succeeded", 30, false));
    world_slurm_write(world, "restarts.101", "1");
    world_slurm_write(world, "state.101", "completed");
    world_start(world, NULL);
    world_await(world, "/v1/workflows/1", "state", "succeeded");
    expect_run(world, 2, "outcome", "succeeded");
    expect_run(world, 2, "resume", "null"); /* from the start, whatever the record has */
    assert_int_equal(world_slurm_lines(world, "jobs"), 1);
}

static void a_job_that_slurm_did_not_requeue_is_replaced(void **state)
{
    struct world *world = *state;
    run_first_attempt(world);
    push(world, "runs/1/a/1", "lead", ended(2, "preempted", 12, true), 2);
    world_slurm_write(world, "state.101", "completed");
    world_await_lines(world, "jobs", 2);
    world_await(world, "/v1/workflows/1", "phases.0.run.job_id", "102");
    world_await(world, "/v1/workflows/1", "phases.0.run.resume", run_checkpoint_path(world, 10));
    json_t *json = world_expect(world, 200, "GET", "/v1/nodes", NULL);
    assert_string_equal(world_member(json, "nodes.0.node"), "(absent)"); /* no node is to blame */
    json_decref(json);
}

/* Returns the member with this name of a run's run.json, as text. */
static char *told(struct world *world, const char *folder, const char *member)
{
    char *path = text_format("%s/run.json", folder), *text = world_read(world, path);
    json_t *json = json_loads(text, 0, NULL);
    char *value = xstrdup(world_member(json, member));
    json_decref(json);
    free(text);
    free(path);
    return value;
}

static void runs_that_the_lead_of_another_job_made_alone_are_set_aside(void **state)
{
    struct world *world = *state;
    run_first_attempt(world);
    make_alone(world, 2, "/out/step_10", 10, "/elsewhere/phased-x");
    push(world, "runs/1/a/1", "lead", ended(2, "preempted", 12, true), 2);
    world_await(world, "/v1/workflows/1", "phases.0.run.attempt", "2");
    expect_next(world, "runs/1/a/1", "/runs/1/a/2");
    char *aside = told(world, "runs/1/a/2.of-phased-x", "alone");
    char *anew = told(world, "runs/1/a/2", "alone");
    assert_string_equal(aside, "true");
    assert_string_equal(anew, "(absent)");
    free(aside);
    free(anew);
    assert_int_equal(world_slurm_lines(world, "jobs"), 1);
}

/* The lead knows the folder of its job by another path, such as one without a link. */
static void a_run_made_alone_is_of_the_job_with_the_same_token(void **state)
{
    struct world *world = *state;
    run_first_attempt(world);
    world_kill(world);
    char *job = told(world, "runs/1/a/1", "job_dir");
    char *moved = text_format("/elsewhere%s", strrchr(job, '/'));
    leave(world, "runs/1/a/1", "outcome.json", ended(0, "preempted", 12, true));
    make_alone(world, 2, "/out/step_12", 12, moved);
    leave_journal(world, "runs/1/a/2", "lead", started(1), NULL);
    world_slurm_write(world, "restarts.101", "1");
    world_start(world, NULL);
    expect_run(world, 2, "state", "running");
    expect_run(world, 2, "resume", "/out/step_12");
    free(moved);
    free(job);
}

/* An sbatch script: its phase has no `checkpoint`. */
static const char script[] = "name: one\n"
                             "phases:\n"
                             "  a:\n"
                             "    resources: {nodes: 1, gpus: 2, time: 10m}\n"
                             "    run: echo\n";

/* Samples of GPUs come before the program prints its first step. */
static void tells_steps(struct world *world, const char *run, unsigned begin, unsigned last)
{
    const unsigned steps[] = {0, begin, last};
    for (unsigned i = 0; i < 3; i++)
        push(world, run, "n1",
             text_format("{\"seq\":%u,\"time\":%lld,\"type\":\"metric\",\"step\":%u,\"values\":"
                         "{\"%s\":1}%s}",
                         i + 1, (long long)time(NULL), steps[i], i ? "loss" : "gpu_util",
                         i ? "" : ",\"stepless\":true"),
             i + 1);
}

static void a_script_that_resumes_goes_on_after_its_limit(void **state)
{
    struct world *world = *state;
    json_decref(world_expect(world, 201, "POST", "/v1/workflows", world_submission(script, NULL)));
    world_await_lines(world, "jobs", 1);
    world_slurm_write(world, "state.101", "running");
    push(world, "runs/1/a/1", "lead", started(0), 1);
    tells_steps(world, "runs/1/a/1", 1, 100);
    push(world, "runs/1/a/1", "lead", ended(2, "timed_out", 100, false), 2);
    world_await(world, "/v1/workflows/1", "phases.0.state", "held");
    world_slurm_write(world, "state.101", "completed");
    json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/phases/a/retry", NULL));
    world_await_lines(world, "jobs", 2);
    world_slurm_write(world, "state.102", "running");
    push(world, "runs/1/a/2", "lead",
         text_format("{\"seq\":1,\"time\":%lld,\"type\":\"started\",\"job_id\":102,"
                     "\"restarts\":0,\"nodes\":[\"n1\"],\"end_time\":null}",
                     (long long)time(NULL)),
         1);
    tells_steps(world, "runs/1/a/2", 81, 170);
    world_kill(world);
    world_start(world, NULL);
    push(world, "runs/1/a/2", "lead", ended(2, "timed_out", 170, false), 2);
    world_await_lines(world, "jobs", 3);
    world_await(world, "/v1/workflows/1", "phases.0.state", "queued");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_script_that_resumes_goes_on_after_its_limit),
        TEST(a_preempted_run_continues_in_its_job),
        TEST(a_job_that_still_waits_gets_its_begin_time_again),
        TEST(a_requeued_job_that_a_person_puts_off_waits),
        TEST(a_job_that_waits_while_its_run_ends_is_cancelled),
        TEST(a_job_held_after_a_failed_launch_is_replaced),
        TEST(a_job_that_a_person_holds_waits_and_says_so),
        TEST(a_run_in_a_requeued_job_ends_by_the_files_of_its_lead),
        TEST(runs_that_a_lead_made_alone_are_adopted_in_order),
        cmocka_unit_test(a_kill_during_an_adoption_adopts_once),
        cmocka_unit_test(a_kill_around_begin_job_begins_the_job_after_the_restart),
        TEST(a_training_that_ended_without_the_daemon_is_promoted),
        TEST(a_job_that_slurm_did_not_requeue_is_replaced),
        TEST(runs_that_the_lead_of_another_job_made_alone_are_set_aside),
        TEST(a_run_made_alone_is_of_the_job_with_the_same_token),
    };
    return cmocka_run_group_tests_name("daemon requeues", tests, NULL, NULL);
}
