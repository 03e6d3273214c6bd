/* Jobs that wait before Slurm has them: in rounds, and given up at once when nobody needs them. */
#include "tests/unit/daemon_world.h"

#include "daemon/api/waits.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char one_phase[] = "name: one\nphases:\n"
                                "  a:\n"
                                "    resources: {nodes: 1, gpus: 2, time: 10m}\n"
                                "    run: echo\n";

static const char candidates[] = "name: candidates\nphases:\n"
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

/* The first run fails because of its node, and the second is due after 10 s. */
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
    world_await(world, "/v1/workflows/1", "phases.0.attempts", "2");
    free(started);
    free(ended);
}

static void a_retry_that_is_cancelled_in_its_back_off_is_never_submitted(void **state)
{
    struct world *world = *state;
    submit(world, one_phase);
    fail_first_run(world);
    command(world, "/v1/workflows/1/cancel");
    size_t jobs = world_slurm_lines(world, "jobs");
    world_await(world, "/v1/workflows/1", "phases.0.state", "cancelled");
    assert_int_equal(world_slurm_lines(world, "jobs"), jobs);
}

static void a_retry_that_is_held_in_its_back_off_is_never_submitted(void **state)
{
    struct world *world = *state;
    submit(world, one_phase);
    fail_first_run(world);
    command(world, "/v1/workflows/1/phases/a/hold");
    size_t jobs = world_slurm_lines(world, "jobs");
    world_await(world, "/v1/workflows/1", "phases.0.state", "held");
    assert_int_equal(world_slurm_lines(world, "jobs"), jobs);
}

static void a_job_that_waits_tells_when_slurm_expects_its_start(void **state)
{
    struct world *world = *state;
    submit(world, one_phase);
    world_await_lines(world, "jobs", 1);
    json_t *json = world_expect(world, 200, "GET", "/v1/workflows/1", NULL);
    assert_null(json_object_get(
        json_object_get(json_array_get(json_object_get(json, "phases"), 0), "run"), "job_start"));
    json_decref(json);
    world_slurm_write(world, "start.101", "1795000000");
    world_await(world, "/v1/workflows/1", "phases.0.run.job_start", "1795000000");
    world_await(world, "/v1/workflows?brief=1", "workflows.0.phases.0.run.job_start", "1795000000");
    world_await(world, "/v1/workflows/1/phases/a", "runs.0.job_start", "1795000000");
    world_await(world, "/v1/workflows/1/phases/a/runs/1", "job_start", "1795000000");
    world_slurm_write(world, "state.101", "running"); /* it has started: nothing is expected */
    world_await(world, "/v1/workflows/1", "phases.0.run.job_state", "running");
    json = world_expect(world, 200, "GET", "/v1/workflows/1/phases/a/runs/1", NULL);
    assert_null(json_object_get(json, "job_start"));
    json_decref(json);
}

/* --- A clock that is set ---------------------------------------------------------------------- */

static void start_with_clock(struct world *world)
{
    char *clock = text_format("%s/clock", world->home);
    world_stop(world);
    (void)setenv("PHASED_CLOCK", clock, 1);
    world_start(world, NULL);
    (void)unsetenv("PHASED_CLOCK");
    free(clock);
}

static void set_clock(struct world *world, const char *ms)
{
    char *clock = text_format("%s/clock", world->home);
    assert_int_equal(file_replace(clock, ms, strlen(ms), 0600, NULL), 0);
    free(clock);
}

static double monotonic_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The second run waits ten seconds, and not an hour and ten seconds. Polls go on. */
static void a_clock_that_is_set_back_delays_no_retry(void **state)
{
    struct world *world = *state;
    start_with_clock(world);
    submit(world, one_phase);
    fail_first_run(world);
    set_clock(world, "-3600000");
    world_await_lines(world, "jobs", 2);
    assert_true(world_log_has(world, "the clock was set back by 3600 s"));
    world_slurm_write(world, "state.102", "running");
    world_await(world, "/v1/workflows/1", "phases.0.run.job_state", "running");
}

/* The run waits ten seconds all the same. */
static void a_clock_that_is_set_forward_brings_no_retry_forward(void **state)
{
    struct world *world = *state;
    start_with_clock(world);
    submit(world, one_phase);
    double before_s = monotonic_s();
    fail_first_run(world);
    set_clock(world, "3600000");
    world_await_lines(world, "jobs", 2);
    assert_true(monotonic_s() - before_s > 9.5);
    assert_true(world_log_has(world, "the clock was set forward by 3600 s"));
    world_slurm_write(world, "state.102", "running");
    world_await(world, "/v1/workflows/1", "phases.0.run.job_state", "running");
}

/* Returns how many warnings of the first workflow have the text, and waits for the first one. */
static size_t await_warnings(struct world *world, const char *text)
{
    double until_s = monotonic_s() + WORLD_DEADLINE_MS / 1000.0;
    size_t found = 0;
    while (found == 0 && monotonic_s() < until_s) {
        json_t *json = world_expect(world, 200, "GET", "/v1/events?after=0&workflow=1", NULL);
        json_t *event;
        size_t i;
        json_array_foreach(json_object_get(json, "events"), i, event)
        {
            const char *message = json_string_value(json_object_get(event, "message"));
            found += message && strstr(message, text);
        }
        json_decref(json);
        if (!found)
            world_pause();
    }
    return found;
}

/* The daemon finds no timeout(1). It goes on, and tries again after 15 s. */
static void a_notice_whose_program_cannot_be_started_keeps_nothing_waiting(void **state)
{
    static const char spec[] = "name: told\n"
                               "notify: {on: held, command: 'true'}\n"
                               "phases:\n"
                               "  a:\n"
                               "    resources: {nodes: 1, gpus: 2, time: 10m}\n"
                               "    run: echo\n";
    struct world *world = *state;
    char *path = xstrdup(getenv("PATH"));
    world_stop(world);
    (void)setenv("PATH", world->home, 1);
    world_start(world, NULL);
    (void)setenv("PATH", path, 1);
    submit(world, spec);
    fail_first_run(world);
    command(world, "/v1/workflows/1/phases/a/hold");
    assert_int_equal(await_warnings(world, "the command of notify could not be started for the "
                                           "notice 'held': timeout: No such file or directory"),
                     1);
    free(path);
}

/* The clock was set back while the daemon was away. The look-up is due in five seconds. */
static void a_look_up_does_not_wait_for_a_clock_that_was_ahead(void **state)
{
    struct world *world = *state;
    set_clock(world, "3600000");
    start_with_clock(world);
    world_slurm_write(world, "mode", "down");
    submit(world, one_phase);
    world_await(world, "/v1/workflows/1", "phases.0.run.job_reason",
                "Slurm does not answer: Unable to contact the controller");
    world_kill(world);
    world_slurm_write(world, "mode", "up");
    world_start(world, NULL);
    world_await_lines(world, "jobs", 1);
}

/* Holds a workflow whose command tells it at the second try, and waits until the first try has
 * failed. */
static void fail_first_notice(struct world *world)
{
    static const char spec[] = "name: told\n"
                               "notify: {on: held, command: 'test -e once && touch told || "
                               "{ touch once; exit 1; }'}\n"
                               "phases:\n"
                               "  a:\n"
                               "    resources: {nodes: 1, gpus: 2, time: 10m}\n"
                               "    run: echo\n";
    submit(world, spec);
    fail_first_run(world);
    command(world, "/v1/workflows/1/phases/a/hold");
    assert_int_equal(await_warnings(world, "the command of notify exited with 1"), 1);
}

static void await_second_notice(struct world *world)
{
    double until_s = monotonic_s() + 3 * WORLD_DEADLINE_MS / 1000.0;
    char *told = text_format("%s/told", world->home);
    while (access(told, F_OK) < 0 && monotonic_s() < until_s)
        world_pause();
    assert_int_equal(access(told, F_OK), 0);
    free(told);
}

/* The second try comes at most 15 s after the first one, and not half an hour later. */
static void a_clock_that_is_set_back_delays_no_notice(void **state)
{
    struct world *world = *state;
    start_with_clock(world);
    fail_first_notice(world);
    set_clock(world, "-1800000");
    await_second_notice(world);
    assert_true(world_log_has(world, "the clock was set back by 1800 s"));
}

/* The first try fails while the clock is ahead. The clock is set back while the daemon is away. */
static void a_notice_does_not_wait_for_a_clock_that_was_ahead(void **state)
{
    struct world *world = *state;
    set_clock(world, "1800000");
    start_with_clock(world);
    fail_first_notice(world);
    world_kill(world);
    world_start(world, NULL);
    await_second_notice(world);
}

/* Slurm accepts no job. A cancellation must not wait for the next attempt, which would be refused,
 * too. */
static void cancel_at_a_limit(struct world *world, const char *spec, size_t tries)
{
    world_slurm_write(world, "mode", "limited");
    submit(world, spec);
    world_await_least(world, "turned-away", tries); /* another try comes after 5 s */
    world_await(world, "/v1/workflows/1", "phases.0.run.job_reason", "because the test wants it");
    command(world, "/v1/workflows/1/cancel");
    tries = world_slurm_lines(world, "turned-away");
    world_await(world, "/v1/workflows/1", "phases.0.state", "cancelled");
    assert_int_equal(world_slurm_lines(world, "turned-away"), tries);
}

static void a_job_at_a_limit_of_the_site_is_cancelled_at_once(void **state)
{
    cancel_at_a_limit(*state, one_phase, 1);
}

static void candidates_at_a_limit_of_the_site_are_cancelled_at_once(void **state)
{
    cancel_at_a_limit(*state, candidates, 2);
}

/* --- The record ------------------------------------------------------------------------------- */

/* Runs one statement on the record, beside the daemon. */
static void change_record(struct world *world, const char *sql)
{
    sqlite3 *record;
    char *path = text_format("%s/phased.db", world->home);
    assert_int_equal(sqlite3_open(path, &record), SQLITE_OK);
    assert_int_equal(sqlite3_busy_timeout(record, WORLD_DEADLINE_MS), SQLITE_OK);
    assert_int_equal(sqlite3_exec(record, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(record), SQLITE_OK);
    free(path);
}

/* The daemon is killed in the pause before the second run. So that no slow machine ends the pause,
 * the rest of the pause is made longer. */
static void restart_in_back_off(struct world *world)
{
    submit(world, one_phase);
    fail_first_run(world);
    world_kill(world);
    change_record(world, "UPDATE outbox SET due = due + 240000 WHERE kind = 'submit'");
    world_start(world, NULL);
    json_t *json = world_expect(world, 200, "GET", "/v1/workflows/1", NULL);
    assert_string_equal(world_member(json, "phases.0.run.job_reason"),
                        "a pause of 10 s after the failure");
    json_decref(json);
}

/* The clock then says that the pause is over. */
static void a_restart_keeps_the_pause_after_a_failure(void **state)
{
    struct world *world = *state;
    restart_in_back_off(world);
    set_clock(world, "3600000");
    start_with_clock(world);
    world_await_lines(world, "jobs", 2);
}

static void
a_retry_that_is_cancelled_in_its_back_off_after_a_restart_is_never_submitted(void **state)
{
    struct world *world = *state;
    restart_in_back_off(world);
    command(world, "/v1/workflows/1/cancel");
    world_await(world, "/v1/workflows/1", "phases.0.state", "cancelled");
    assert_int_equal(world_slurm_lines(world, "jobs"), 1);
}

/* A person who followed the advice to cancel the workflow would lose it. */
static void a_record_that_cannot_be_read_loses_no_workflow(void **state)
{
    static const char path[] = "/v1/workflows/2/phases/a/runs/1";
    struct world *world = *state;
    submit(world, one_phase);
    command(world, "/v1/workflows/1/cancel");
    world_await(world, "/v1/workflows/1", "state", "cancelled");
    json_t *body = world_submission(one_phase, NULL);
    (void)json_object_set_new(body, "after", json_integer(1));
    json_decref(world_expect(world, 201, "POST", "/v1/workflows", body));
    world_await(world, path, "job_reason",
                "waits for workflow 1 (--after), which is cancelled: retry workflow 1, or cancel "
                "workflow 2");
    change_record(world, "DROP VIEW v_workflow");
    world_await(world, path, "job_reason",
                "waits for workflow 1 (--after); the record cannot be read");
    world_kill(world);
}

/* The controller has crashed: another job has the id until the controller recovers our job. */
static void a_job_of_another_user_with_the_same_id_is_not_cancelled(void **state)
{
    struct world *world = *state;
    submit(world, one_phase);
    world_await(world, "/v1/workflows/1", "phases.0.run.state", "pending");
    char *jobs = world_read(world, "slurm/jobs");
    world_slurm_write(world, "jobs", "101 ffffffffffffffffffffffffffffffff other\n");
    world_slurm_write(world, "state.101", "running");
    json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/cancel", NULL));
    world_await_least(world, "strangers", 1);
    assert_int_equal(world_slurm_lines(world, "cancelled"), 0);
    world_slurm_write(world, "jobs", jobs);
    world_await_lines(world, "cancelled", 1);
    world_await(world, "/v1/workflows/1", "state", "cancelled");
    free(jobs);
}

static void a_submission_says_who_made_it(void **state)
{
    struct world *world = *state;
    for (int i = 0; i < 3; i++) {
        json_t *body = world_submission(one_phase, NULL);
        if (i < 2)
            (void)json_object_set_new(body, "who", json_string("anna by mcp (editor)"));
        if (i > 0)
            (void)json_object_set_new(body, "hold", json_true());
        json_decref(world_expect(world, 201, "POST", "/v1/workflows", body));
    }
    json_t *json = world_expect(world, 200, "GET", "/v1/events?after=0&workflow=1", NULL);
    assert_string_equal(world_member(json, "events.0.message"),
                        "submitted by anna by mcp (editor)");
    json_decref(json);
    json = world_expect(world, 200, "GET", "/v1/workflows/2", NULL);
    assert_string_equal(world_member(json, "phases.0.reason"),
                        "held at its submission by anna by mcp (editor)");
    json_decref(json);
    json = world_expect(world, 200, "GET", "/v1/workflows/3", NULL);
    assert_string_equal(world_member(json, "phases.0.reason"), "held at its submission");
    json_decref(json);
}

static void reasons_of_slurm_are_explained(void **state)
{
    (void)state;
    static const struct {
        const char *reason, *text;
    } rows[] = {
        {"Priority", "jobs of a higher priority come first (Priority)"},
        {"PartitionInactive", "its partition starts no jobs at present (PartitionInactive)"},
        {"Dependency", "a job that this job depends on has not ended (Dependency)"},
        {"DependencyNeverSatisfied",
         "a job that this job depends on has ended in a way that this job"
         " does not wait for; the job does not start as it is"
         " (DependencyNeverSatisfied)"},
        {"ReservationDeleted", "its reservation has been deleted; the job does not start as it is"
                               " (ReservationDeleted)"},
        {"QOSMaxJobsPerUserLimit", "a limit of the site on its QOS; the job begins when others have"
                                   " ended (QOSMaxJobsPerUserLimit)"},
        {"AssocMaxGRESPerJob",
         "the job asks for more than the site allows one job (AssocMaxGRESPerJob)"},
        {"AssocGrpGRESMinutes",
         "the time that the site gives its account is used up (AssocGrpGRESMinutes)"},
        {"AssocGrpCPURunMinutesLimit", "a limit of the site on its account; the job begins when"
                                       " others have ended (AssocGrpCPURunMinutesLimit)"},
        {"QOSGrpGRESRunMinutes", "a limit of the site on its QOS; the job begins when others have"
                                 " ended (QOSGrpGRESRunMinutes)"},
        {"AssocGrpWallLimit",
         "the time that the site gives its account is used up (AssocGrpWallLimit)"},
        {"AssociationTimeLimit",
         "the time that the site gives its account is used up (AssociationTimeLimit)"},
        {"QOSMinGRES", "the job asks for less than its QOS demands; it does not start as it is"
                       " (QOSMinGRES)"},
        {"QOSTimeLimit", "the time that the site gives its QOS is used up (QOSTimeLimit)"},
        {"QOSMaxGRESPerNode",
         "the job asks for more than the site allows on one node (QOSMaxGRESPerNode)"},
        {"Licenses", "Licenses"},
        {"", "Slurm has not looked at the job yet"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *text = waits_explain(rows[i].reason);
        assert_string_equal(text, rows[i].text);
        free(text);
    }
}

/* Whether the plan of the file has a danger that begins like this. */
static bool warns(struct world *world, const char *spec, const char *begin)
{
    json_t *json = world_expect(world, 200, "POST", "/v1/plan", world_submission(spec, NULL));
    json_t *phase, *danger;
    size_t i, j;
    bool has_one = false;
    json_array_foreach(json_object_get(json, "phases"), i, phase)
    {
        json_array_foreach(json_object_get(phase, "dangers"), j, danger) has_one =
            has_one || text_starts(json_string_value(danger), begin);
    }
    json_decref(json);
    return has_one;
}

#define RUNGS(pack)                                                                                \
    "name: s\nphases:\n  ladder:\n    params: {steps: 10}\n"                                       \
    "    resources: {gpus: 1, time: 1h}\n    matrix: {SIZE: [1, 2, 3, 4]}\n    pack: " pack "\n"   \
    "    best: {max: last(speed), rungs: {steps: [10, 20, 30]}, cut: 1/2}\n"                       \
    "    env: {SIZE: $SIZE, STEPS: $steps}\n    run: x\n"

static void a_plan_warns_of_rungs_that_leave_gpus_idle(void **state)
{
    struct world *world = *state;
    assert_true(
        warns(world, RUNGS("parallel"), "rung 2 has 2 members, and its job has room for 4:"));
    assert_true(
        warns(world, RUNGS("{parallel: 3}"), "rung 2 has 2 members, and its job has room for 3:"));
    assert_false(warns(world, RUNGS("{parallel: 2}"), "rung "));
    assert_false(warns(world, RUNGS("serial"), "rung "));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reasons_of_slurm_are_explained),
        TEST(a_retry_that_is_cancelled_in_its_back_off_is_never_submitted),
        TEST(a_job_that_waits_tells_when_slurm_expects_its_start),
        TEST(a_retry_that_is_held_in_its_back_off_is_never_submitted),
        TEST(a_clock_that_is_set_back_delays_no_retry),
        TEST(a_look_up_does_not_wait_for_a_clock_that_was_ahead),
        TEST(a_clock_that_is_set_forward_brings_no_retry_forward),
        TEST(a_clock_that_is_set_back_delays_no_notice),
        TEST(a_notice_whose_program_cannot_be_started_keeps_nothing_waiting),
        TEST(a_notice_does_not_wait_for_a_clock_that_was_ahead),
        TEST(a_job_at_a_limit_of_the_site_is_cancelled_at_once),
        TEST(candidates_at_a_limit_of_the_site_are_cancelled_at_once),
        TEST(a_job_of_another_user_with_the_same_id_is_not_cancelled),
        TEST(a_record_that_cannot_be_read_loses_no_workflow),
        TEST(a_restart_keeps_the_pause_after_a_failure),
        TEST(a_retry_that_is_cancelled_in_its_back_off_after_a_restart_is_never_submitted),
        TEST(a_plan_warns_of_rungs_that_leave_gpus_idle),
        TEST(a_submission_says_who_made_it),
    };
    return cmocka_run_group_tests_name("daemon queue", tests, NULL, NULL);
}
