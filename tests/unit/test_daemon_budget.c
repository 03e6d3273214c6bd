/* What the daemon does when a budget is spent: that of a workflow, or that of the month in
 * limits.yaml. */
#include "tests/unit/daemon_world.h"

#include "lib/file.h"
#include "lib/text.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PHASE(name, time, more)                                                                    \
    "  " name ":\n"                                                                                \
    "    resources: {nodes: 1, gpus: 2, time: " time "}\n" more "    run: echo\n"

static const char two_phases[] =
    "name: two\nphases:\n" PHASE("a", "4h", "") PHASE("b", "1h", "    after: a\n");

static const char sweep[] =
    "name: sweep\nbudget: {gpu_hours: 1}\nphases:\n" PHASE("ladder", "4h",
                                                           "    matrix: {SIZE: [1, 2, 3]}\n"
                                                           "    pack: serial\n"
                                                           "    best: {max: last(speed)}\n"
                                                           "    env: {SIZE: $SIZE}\n");

static void submit(struct world *world, const char *spec)
{
    json_decref(world_expect(world, 201, "POST", "/v1/workflows", world_submission(spec, NULL)));
    world_await_lines(world, "jobs", 1);
}

/* Changes the record while the daemon is down. */
static void change_record(struct world *world, const char *sql)
{
    sqlite3 *record;
    char *path = text_format("%s/phased.db", world->home);
    world_stop(world);
    assert_int_equal(sqlite3_open(path, &record), SQLITE_OK);
    assert_int_equal(sqlite3_exec(record, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(record), SQLITE_OK);
    free(path);
    world_start(world, NULL);
}

/* Lets what is in the record have happened an hour earlier. */
static void age(struct world *world)
{
    change_record(world, "UPDATE run SET submitted = submitted - 3600000;"
                         "UPDATE job SET submitted = submitted - 3600000;");
}

/* The first run began an hour ago, so it has cost a little more than 2 GPU hours. */
static void run_for_an_hour(struct world *world, const char *run_folder)
{
    age(world);
    char *entry = text_format("{\"seq\":1,\"time\":%lld,\"type\":\"started\",\"job_id\":101,"
                              "\"restarts\":0,\"nodes\":[\"n1\"],\"end_time\":null}",
                              (long long)time(NULL) - 3600);
    world_slurm_write(world, "state.101", "running");
    assert_int_equal(world_push(world, run_folder, "lead", (const char *const[]){entry, NULL}), 1);
    free(entry);
    world_await(world, "/v1/workflows/1", "phases.0.state", "active");
}

static void succeed(struct world *world, const char *run_folder)
{
    long long now = (long long)time(NULL);
    char *entry = text_format("{\"seq\":2,\"time\":%lld,\"type\":\"ended\",\"run\":1,"
                              "\"outcome\":\"succeeded\",\"cause\":null,\"exit_code\":0,"
                              "\"signal\":0,\"message\":\"\",\"started\":%lld,\"ended\":%lld,"
                              "\"finals\":{},\"last_step\":null}",
                              now, now - 3600, now);
    assert_int_equal(world_push(world, run_folder, "lead", (const char *const[]){entry, NULL}), 2);
    free(entry);
}

static void limit(struct world *world, const char *text)
{
    char *path = text_format("%s/limits.yaml", world->home);
    assert_int_equal(file_replace(path, text, strlen(text), 0600, NULL), 0);
    free(path);
}

static void await_reason(struct world *world, const char *member, const char *begin)
{
    char last[200] = "";
    time_t deadline = time(NULL) + WORLD_DEADLINE_MS / 1000;
    while (time(NULL) < deadline && !text_starts(last, begin)) {
        int status;
        json_t *json = world_call(world, "GET", "/v1/workflows/1", NULL, &status);
        (void)snprintf(last, sizeof last, "%s", world_member(json, member));
        json_decref(json);
        world_pause();
    }
    if (!text_starts(last, begin))
        fail_msg("%s is \"%s\", not \"%s...\"", member, last, begin);
}

/* Returns how many warnings have this text. */
static size_t warnings(struct world *world, const char *part)
{
    size_t count = 0;
    json_t *json = world_expect(world, 200, "GET", "/v1/events?after=0&wait=0", NULL);
    char *text = json_dumps(json, JSON_COMPACT);
    for (const char *at = text; (at = strstr(at, part)); at++)
        count++;
    free(text);
    json_decref(json);
    return count;
}

static void await_warnings(struct world *world, const char *part, size_t count)
{
    time_t deadline = time(NULL) + WORLD_DEADLINE_MS / 1000;
    while (warnings(world, part) < count && time(NULL) < deadline)
        world_pause();
    assert_int_equal(warnings(world, part), count);
}

static bool has_run_folder(struct world *world, const char *run_folder)
{
    char *path = text_format("%s/%s/run.json", world->home, run_folder);
    bool has_one = access(path, F_OK) == 0;
    free(path);
    return has_one;
}

static void waiting_members_are_held_with_the_running_member(void **state)
{
    struct world *world = *state;
    submit(world, sweep);
    run_for_an_hour(world, "runs/1/ladder.1/1");
    await_reason(world, "phases.0.reason", "held by its budget, of which 2.0");
    world_await(world, "/v1/workflows/1", "phases.1.state", "held");
    world_await(world, "/v1/workflows/1", "phases.2.state", "held");
    world_await(world, "/v1/workflows/1", "phases.0.state", "active"); /* until its run stops */
    assert_int_equal(world_slurm_lines(world, "jobs"), 1);
}

static void stop(struct world *world, const char *run_folder)
{
    long long now = (long long)time(NULL);
    char *entry = text_format("{\"seq\":2,\"time\":%lld,\"type\":\"ended\",\"run\":1,"
                              "\"outcome\":\"cancelled\",\"cause\":null,\"exit_code\":0,"
                              "\"signal\":15,\"message\":\"\",\"started\":%lld,\"ended\":%lld,"
                              "\"finals\":{},\"last_step\":null}",
                              now, now - 3600, now);
    assert_int_equal(world_push(world, run_folder, "lead", (const char *const[]){entry, NULL}), 2);
    free(entry);
}

static void refuse(struct world *world, const char *command, const char *reason)
{
    char *path = text_format("/v1/workflows/1/%s", command);
    json_t *refusal = world_expect(world, 409, "POST", path, json_object());
    char *text = json_dumps(refusal, JSON_COMPACT);
    if (!strstr(text, reason))
        fail_msg("%s does not say %s", text, reason);
    free(text);
    json_decref(refusal);
    free(path);
}

static void a_phase_without_budget_is_not_released(void **state)
{
    struct world *world = *state;
    limit(world, "month: {gpu_hours: 100}\n");
    submit(world, two_phases);
    run_for_an_hour(world, "runs/1/a/1");
    json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/budget",
                             json_pack("{s:i}", "gpu_hours", 1)));
    await_reason(world, "phases.0.reason", "held by its budget, of which 2.0");
    world_await(world, "/v1/workflows/1", "phases.0.hold_budget", "workflow");
    stop(world, "runs/1/a/1");
    world_await(world, "/v1/workflows/1", "phases.0.state", "held");
    world_await(world, "/v1/workflows/1", "phases.0.hold_budget", "workflow");
    world_await(world, "/v1/workflows/1", "phases.0.hold_amount", "gpu_hours");
    refuse(world, "release", "cannot release 1: its budget is spent: 2.0");
    refuse(world, "release", "; first phasectl budget 1 --gpu-hours N");
    json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/budget",
                             json_pack("{s:i}", "gpu_hours", 50)));
    /* The phase stays held, and no larger budget is needed first. */
    world_await(world, "/v1/workflows/1", "phases.0.hold_budget", "null");
    world_await(world, "/v1/workflows/1/phases/a", "hold_amount", "null");
    world_await(world, "/v1/workflows/1/phases/a", "state", "held");
    json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/release", json_object()));
    world_await(world, "/v1/workflows/1", "phases.0.hold_budget", "null");
    world_await_lines(world, "jobs", 2);
}

static void a_phase_without_budget_does_not_run_again(void **state)
{
    static const char *const saved[] = {
        "{\"seq\":1,\"time\":1.5,\"type\":\"checkpoint\",\"path\":\"/a\",\"step\":5,\"bytes\":4}",
        NULL};
    struct world *world = *state;
    submit(world, two_phases);
    run_for_an_hour(world, "runs/1/a/1");
    assert_int_equal(world_push(world, "runs/1/a/1", "n1", saved), 1);
    json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/cancel", json_object()));
    stop(world, "runs/1/a/1");
    world_await(world, "/v1/workflows/1", "phases.0.state", "cancelled");
    json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/budget",
                             json_pack("{s:i}", "gpu_hours", 1)));
    refuse(world, "retry", "cannot retry 1: its budget is spent: 2.0");
    refuse(world, "phases/a/resume", "cannot resume 1/a: its budget is spent: 2.0");
    json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/budget",
                             json_pack("{s:i}", "gpu_hours", 50)));
    json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/phases/a/resume", json_object()));
    world_await_lines(world, "jobs", 2);
}

static void a_hold_in_progress_uses_the_newest_budget(void **state)
{
    struct world *world = *state;
    submit(world, two_phases);
    run_for_an_hour(world, "runs/1/a/1");
    json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/budget",
                             json_pack("{s:i}", "gpu_hours", 1)));
    await_reason(world, "phases.0.reason", "held by its budget, of which 2.0");
    json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/budget",
                             json_pack("{s:i}", "gpu_hours", 50)));
    stop(world, "runs/1/a/1");
    world_await_lines(world, "jobs", 2);
}

static void a_new_budget_does_not_release_what_a_person_has_held(void **state)
{
    struct world *world = *state;
    submit(world, sweep);
    json_decref(
        world_expect(world, 200, "POST", "/v1/workflows/1/phases/ladder.3/hold", json_object()));
    world_await(world, "/v1/workflows/1", "phases.2.state", "held");
    run_for_an_hour(world, "runs/1/ladder.1/1");
    world_await(world, "/v1/workflows/1", "phases.1.hold_budget", "workflow");
    json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/budget",
                             json_pack("{s:i}", "gpu_hours", 50)));
    stop(world, "runs/1/ladder.1/1");
    world_await_lines(world, "jobs", 2);
    world_await(world, "/v1/workflows/1", "phases.1.state", "blocked"); /* for its lane */
    json_t *json = world_expect(world, 200, "GET", "/v1/workflows/1", NULL);
    assert_string_equal(world_member(json, "phases.2.state"), "held");
    json_decref(json);
}

static void no_phase_goes_on_in_place_when_the_month_is_spent(void **state)
{
    struct world *world = *state;
    limit(world, "month: {gpu_hours: 100}\n");
    submit(world, two_phases);
    run_for_an_hour(world, "runs/1/a/1");
    limit(world, "month: {gpu_hours: 1}\n");
    succeed(world, "runs/1/a/1");
    await_reason(world, "phases.1.reason", "held by this month's budget, of which 2.0");
    world_await(world, "/v1/workflows/1", "phases.1.hold_budget", "month");
    assert_false(has_run_folder(world, "runs/1/b/1"));
    assert_int_equal(world_slurm_lines(world, "jobs"), 1);
}

static void a_warning_about_the_month_comes_once_across_restarts(void **state)
{
    struct world *world = *state;
    limit(world, "month: {gpu_hours: 100}\n");
    submit(world, two_phases);
    run_for_an_hour(world, "runs/1/a/1");
    limit(world, "month: {gpu_hours: 2.3}\n");
    await_warnings(world, "of the month's budget is spent", 1);
    world_kill(world);
    world_start(world, NULL);
    /* Each look at the budgets ends with that of the month. So the second warning of the workflow
     * comes after a whole look. */
    for (size_t i = 1; i <= 2; i++) {
        json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/budget",
                                 json_pack("{s:f}", "gpu_hours", 2.4 + 0.01 * (double)i)));
        await_warnings(world, "of the budget is spent", i);
    }
    assert_int_equal(warnings(world, "of the month's budget is spent"), 1);
}

/* Waits until the month has this budget, and was compared with it: both happen in one look. */
static void await_month(struct world *world, const char *budget)
{
    char *path = text_format("%s/phased.db", world->home), *sql = NULL;
    sqlite3 *record;
    bool has_one = false;
    time_t deadline = time(NULL) + WORLD_DEADLINE_MS / 1000;
    assert_int_equal(sqlite3_open_v2(path, &record, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    sql = text_format("SELECT 1 FROM month WHERE json_extract(budget, '$.gpu_hours') = %s", budget);
    while (!has_one && time(NULL) < deadline) {
        sqlite3_stmt *found;
        assert_int_equal(sqlite3_prepare_v2(record, sql, -1, &found, NULL), SQLITE_OK);
        has_one = sqlite3_step(found) == SQLITE_ROW;
        (void)sqlite3_finalize(found); /* it was only read */
        world_pause();
    }
    assert_true(has_one);
    assert_int_equal(sqlite3_close(record), SQLITE_OK);
    free(sql);
    free(path);
}

static void a_warning_about_the_month_waits_for_a_workflow_that_can_be_warned(void **state)
{
    struct world *world = *state;
    limit(world, "month: {gpu_hours: 100}\n");
    submit(world, two_phases);
    run_for_an_hour(world, "runs/1/a/1");
    succeed(world, "runs/1/a/1");
    json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/cancel", json_object()));
    world_await(world, "/v1/workflows/1", "state", "cancelled");
    limit(world, "month: {gpu_hours: 2.3}\n");
    await_month(world, "2.3");
    assert_int_equal(warnings(world, "of the month's budget is spent"), 0);
    json_decref(
        world_expect(world, 201, "POST", "/v1/workflows", world_submission(two_phases, NULL)));
    await_warnings(world, "of the month's budget is spent", 1);
}

static void a_new_budget_of_the_month_has_a_warning_of_its_own(void **state)
{
    struct world *world = *state;
    limit(world, "month: {gpu_hours: 2.4}\n");
    submit(world, two_phases);
    run_for_an_hour(world, "runs/1/a/1");
    await_warnings(world, "of the month's budget is spent", 1);
    limit(world, "month: {gpu_hours: 2.45}\n");
    await_warnings(world, "of the month's budget is spent", 2);
}

static void a_wrong_limits_file_does_not_lift_the_budget_of_the_month(void **state)
{
    struct world *world = *state;
    limit(world, "month: {gpu_hours: 1}\n");
    submit(world, two_phases);
    run_for_an_hour(world, "runs/1/a/1");
    limit(world, "month: {gpu_hours: many}\n");
    world_kill(world);
    world_start(world, NULL);
    await_reason(world, "phases.0.reason", "held by this month's budget, of which 2.0");
}

/* The node of the batch script was lost, and the lead told nothing. Slurm requeues the job, which
 * then waits for an hour. */
/* Waits until the record says when the run has ended. */
static void await_end(struct world *world)
{
    char *path = text_format("%s/phased.db", world->home);
    sqlite3 *record;
    bool has_end = false;
    time_t deadline = time(NULL) + WORLD_DEADLINE_MS / 1000;
    assert_int_equal(sqlite3_open_v2(path, &record, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    while (!has_end && time(NULL) < deadline) {
        sqlite3_stmt *ended;
        assert_int_equal(sqlite3_prepare_v2(record, "SELECT 1 FROM run WHERE ended IS NOT NULL", -1,
                                            &ended, NULL),
                         SQLITE_OK);
        has_end = sqlite3_step(ended) == SQLITE_ROW;
        (void)sqlite3_finalize(ended); /* it was only read */
        world_pause();
    }
    assert_true(has_end);
    assert_int_equal(sqlite3_close(record), SQLITE_OK);
    free(path);
}

static void a_run_whose_job_waits_again_costs_nothing_more(void **state)
{
    struct world *world = *state;
    submit(world, two_phases);
    run_for_an_hour(world, "runs/1/a/1");
    world_slurm_write(world, "restarts.101", "1");
    world_slurm_write(world, "state.101", "pending");
    world_await(world, "/v1/workflows/1", "phases.0.run.job_state", "pending");
    await_end(world);
    change_record(world, "UPDATE run SET started = started - 3600000, ended = ended - 3600000");
    json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/budget",
                             json_pack("{s:f}", "gpu_hours", 2.4)));
    await_warnings(world, "of the budget is spent: 2.0", 1);
    world_await(world, "/v1/workflows/1", "phases.0.state", "active");
    world_await(world, "/v1/workflows/1", "phases.0.hold_budget", "null");
}

static size_t cost_rows(struct world *world, const char *path)
{
    json_t *json = world_expect(world, 200, "GET", path, NULL);
    size_t count = json_array_size(json_object_get(json, "costs"));
    json_decref(json);
    return count;
}

static void costs_have_no_last_year(void **state)
{
    struct world *world = *state;
    submit(world, two_phases);
    run_for_an_hour(world, "runs/1/a/1");
    succeed(world, "runs/1/a/1");
    world_await(world, "/v1/workflows/1", "phases.0.state", "succeeded");
    assert_int_equal(cost_rows(world, "/v1/costs?since=2200000000"), 0); /* 2039 */
    change_record(world, "UPDATE run SET started = 2200000000000, ended = 2200003600000"
                         " WHERE id = 1");
    assert_true(cost_rows(world, "/v1/costs") > 0);
    assert_true(cost_rows(world, "/v1/costs?since=2200000000&until=2200000001") > 0);
    assert_int_equal(cost_rows(world, "/v1/costs?workflow=1&until=1"), 0);
}

/* As in a file: dollars without a price hold nothing. */
static void dollars_need_a_price(void **state)
{
    struct world *world = *state;
    submit(world, two_phases);
    json_t *refusal = world_expect(world, 409, "POST", "/v1/workflows/1/budget",
                                   json_pack("{s:i, s:i}", "usd", 5, "gpu_hours", 5));
    char *text = json_dumps(refusal, JSON_COMPACT);
    if (!strstr(text, "workflow 1 has no price, so phased cannot count its dollars: "
                      "give a budget in GPU hours or hours instead"))
        fail_msg("%s", text);
    free(text);
    json_decref(refusal);
    json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/budget",
                             json_pack("{s:i}", "gpu_hours", 5)));
    json_decref(world_expect(world, 201, "POST", "/v1/workflows",
                             world_submission("price: {per_gpu_hour: 2}\n"
                                              "name: one\nphases:\n" PHASE("a", "1h", ""),
                                              NULL)));
    json_decref(
        world_expect(world, 200, "POST", "/v1/workflows/2/budget", json_pack("{s:i}", "usd", 5)));
    json_decref(
        world_expect(world, 404, "POST", "/v1/workflows/99/budget", json_pack("{s:i}", "usd", 5)));
}

/* Four members of an hour on two GPUs. No similar phase has run yet, so the plan says the most. */
static void a_plan_counts_the_runs_of_all_rungs(void **state)
{
    struct world *world = *state;
    static const struct {
        const char *more;
        double hours, gpu_hours;
    } rows[] = {
        {"", 1, 8},
        {"    pack: {parallel: 3}\n", 2, 12}, /* a part of the job is idle */
        {"    pack: {serial: 3}\n", 2, 8},
        {"    best: {max: last(x), rungs: {steps: [1, 2, 3]}, cut: 1/4}\n", 3, 20},
        {"    best: {max: last(x), rungs: {steps: [1, 2, 3]}, cut: 1/4}\n"
         "    pack: serial\n",
         10, 20},
        {"    best: {max: last(x), rungs: {steps: [1, 2, 3]}, cut: 1/2}\n"
         "    pack: {parallel: 2}\n",
         3, 12},
        {"    best: {max: last(x), rungs: {steps: [1, 2, 3]}, cut: 3/4}\n", 1, 8}, /* one is left */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *spec = text_format(
            "name: sweep\nbudget: {gpu_hours: 8}\nphases:\n" PHASE(
                "ladder", "1h",
                "    matrix: {SIZE: [1, 2, 3, 4]}\n%s") "    params: {steps: 1}\n"
                                                        "    env: {SIZE: $SIZE, STEPS: $steps}\n",
            rows[i].more);
        json_t *json = world_expect(world, 200, "POST", "/v1/plan", world_submission(spec, NULL));
        double hours = json_number_value(json_object_get(json, "seconds")) / 3600;
        double gpu_hours = json_number_value(json_object_get(json, "gpu_seconds")) / 3600;
        if (hours != rows[i].hours || gpu_hours != rows[i].gpu_hours)
            fail_msg("row %zu: %g hours, %g GPU hours", i, hours, gpu_hours);
        assert_int_equal(json_array_size(json_object_get(json, "dangers")), gpu_hours > 8);
        json_decref(json);
        free(spec);
    }
}

/* Makes it day: an hour ago it was the same month, also in the first hours of a month. */
static void make_it_day(void)
{
    time_t now = time(NULL);
    (void)setenv("TZ", now / 3600 % 24 < 12 ? "DAY-6" : "DAY+6", 1);
}

int main(void)
{
    make_it_day();
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {
        TEST(waiting_members_are_held_with_the_running_member),
        TEST(a_phase_without_budget_is_not_released),
        TEST(a_phase_without_budget_does_not_run_again),
        TEST(a_hold_in_progress_uses_the_newest_budget),
        TEST(a_new_budget_does_not_release_what_a_person_has_held),
        TEST(no_phase_goes_on_in_place_when_the_month_is_spent),
        TEST(a_warning_about_the_month_comes_once_across_restarts),
        TEST(a_warning_about_the_month_waits_for_a_workflow_that_can_be_warned),
        TEST(a_new_budget_of_the_month_has_a_warning_of_its_own),
        TEST(a_wrong_limits_file_does_not_lift_the_budget_of_the_month),
        TEST(a_run_whose_job_waits_again_costs_nothing_more),
        TEST(costs_have_no_last_year),
        TEST(dollars_need_a_price),
        TEST(a_plan_counts_the_runs_of_all_rungs),
    };
    return cmocka_run_group_tests_name("daemon budget", tests, NULL, NULL);
}
