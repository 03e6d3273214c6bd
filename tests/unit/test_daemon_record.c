/* The record of the daemon cannot be written, because the disk is full, or cannot be read. Nothing
 * is lost, and nothing is done twice. */
#include "tests/unit/daemon_runs.h"

#include "daemon/loop/clock.h"
#include "lib/text.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static const char spec[] = "name: one\n"
                           "phases:\n"
                           "  a:\n"
                           "    resources: {nodes: 1, gpus: 2, time: 10m}\n"
                           "    run: echo\n"
                           "    progress: {total: 100}\n";

static const char key[] = "00000000000000000000000000000001";

static void submit(struct world *world)
{
    json_decref(world_expect(world, 201, "POST", "/v1/workflows", world_submission(spec, key)));
}

static void limit_files(struct world *world, rlim_t size)
{
    struct rlimit limit = {.rlim_cur = size, .rlim_max = RLIM_INFINITY};
    assert_int_equal(prlimit(world->pid, RLIMIT_FSIZE, &limit, NULL), 0);
}

/* time() may still give the second before. */
static double seconds_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A limit on the size of files fails writes as a full disk does. */
static void no_effect_happens_while_the_record_cannot_be_written(void **state)
{
    struct world *world = *state;
    int status;
    time_t begin = time(NULL);
    json_t *list = json_object(), *several = json_array();
    (void)json_array_append_new(several, world_submission(spec, NULL));
    (void)json_array_append_new(several, world_submission(spec, NULL));
    (void)json_object_set_new(list, "workflows", several);
    limit_files(world, 1);
    json_t *json = world_expect(world, 503, "POST", "/v1/workflows", list);
    assert_string_equal(world_member(json, "error.code"), "unavailable");
    json_decref(json);
    /* From now on the daemon knows it before it asks. */
    json_decref(world_expect(world, 503, "POST", "/v1/workflows", world_submission(spec, NULL)));
    json_decref(world_expect(world, 200, "GET", "/v1/ping", NULL));
    assert_int_equal(world_slurm_lines(world, "jobs"), 0);
    for (int i = 0; i < 300; i++) { /* the first try comes after a second */
        json = world_expect(world, 200, "GET", "/v1/ping", NULL);
        assert_true(json_is_string(json_object_get(json, "trouble")));
        double since = json_number_value(json_object_get(json, "trouble_since"));
        assert_true(since >= (double)begin && since < seconds_now() + 1);
        json_decref(json);
        world_pause();
    }

    limit_files(world, RLIM_INFINITY);
    for (int i = 0; i < 4000; i++) {
        json = world_call(world, "POST", "/v1/workflows", world_submission(spec, key), &status);
        if (status == 201)
            break;
        json_decref(json);
        world_pause();
    }
    assert_int_equal(status, 201);
    assert_string_equal(world_member(json, "workflow"), "1"); /* no number was used up */
    json_decref(json);
    assert_true(world_log_has(world, "the record can be written again"));
    world_await_lines(world, "jobs", 1); /* the refused submissions left nothing */
    json = world_expect(world, 200, "GET", "/v1/workflows", NULL);
    assert_int_equal(json_array_size(json_object_get(json, "workflows")), 1);
    json_decref(json);
}

/* Entries that came while the disk was full are not acknowledged, and are recorded once later. */
static void a_journal_waits_for_the_disk(void **state)
{
    struct world *world = *state;
    char *start = started(0);
    const char *const entries[] = {start, NULL};
    submit(world);
    world_await(world, "/v1/workflows/1", "phases.0.run.state", "pending");
    limit_files(world, 1);
    assert_int_equal(world_push(world, "runs/1/a/1", "lead", entries), -503);
    assert_int_equal(world_push(world, "runs/1/a/1", "lead", entries), -503);
    limit_files(world, RLIM_INFINITY);
    for (int i = 0; i < 4000 && world_push(world, "runs/1/a/1", "lead", entries) != 1; i++)
        world_pause();
    world_await(world, "/v1/workflows/1", "phases.0.run.state", "running");
    free(start);
}

/* Nobody knows whether a run of the record still lives. */
static void no_time_is_left_while_the_record_cannot_be_written(void **state)
{
    struct world *world = *state;
    const char *const told[] = {
        "{\"seq\":1,\"time\":1,\"type\":\"metric\",\"step\":10,\"values\":{\"loss\":3}}",
        "{\"seq\":2,\"time\":1,\"type\":\"pace\",\"step\":10,\"steps\":10,\"seconds\":20}", NULL};
    submit(world);
    world_await(world, "/v1/workflows/1", "phases.0.run.state", "pending");
    push(world, "runs/1/a/1", "lead", started(0), 1);
    assert_int_equal(world_push(world, "runs/1/a/1", "n1", told), 2);
    world_await(world, "/v1/workflows/1", "phases.0.eta_s", "180.0");
    limit_files(world, 1);
    json_decref(world_expect(world, 503, "POST", "/v1/workflows", world_submission(spec, NULL)));
    world_await(world, "/v1/workflows/1", "phases.0.eta_s", "null");
    world_await(world, "/v1/workflows/1/phases/a", "eta_s", "null");
    limit_files(world, RLIM_INFINITY);
    world_await(world, "/v1/workflows/1", "phases.0.eta_s", "180.0");
}

/* Changes the record behind the back of the daemon. */
static void change_record(const struct world *world, const char *sql)
{
    sqlite3 *db;
    char *path = text_format("%s/phased.db", world->home);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    (void)sqlite3_busy_timeout(db, WORLD_DEADLINE_MS);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close(db);
    free(path);
}

/* Submits, and asks again while the record is locked: on a slow disk the daemon may meet the lock
 * of change_record(). */
static json_t *submit_unlocked(struct world *world)
{
    int64_t deadline = clock_ms() + WORLD_DEADLINE_MS;
    for (;;) {
        int status = 0;
        json_t *json =
            world_call(world, "POST", "/v1/workflows", world_submission(spec, key), &status);
        if (status != 503 || clock_ms() > deadline)
            return json;
        json_decref(json);
        world_pause();
    }
}

/* Whether the key is known cannot be told. So the submission is neither recorded a second time nor
 * taken for another one. */
static void a_submission_is_answered_with_the_error_of_a_record_that_cannot_be_read(void **state)
{
    struct world *world = *state;
    submit(world);
    change_record(world, "ALTER TABLE workflow RENAME COLUMN key TO lost");
    json_t *json = submit_unlocked(world);
    assert_non_null(strstr(world_member(json, "error.message"), "no such column: key"));
    json_decref(json);
    change_record(world, "ALTER TABLE workflow RENAME COLUMN lost TO key");
    json = submit_unlocked(world);
    assert_string_equal(world_member(json, "workflow"), "1");
    json_decref(json);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_effect_happens_while_the_record_cannot_be_written),
        TEST(a_journal_waits_for_the_disk),
        TEST(no_time_is_left_while_the_record_cannot_be_written),
        TEST(a_submission_is_answered_with_the_error_of_a_record_that_cannot_be_read),
    };
    return cmocka_run_group_tests_name("daemon: the record", tests, NULL, NULL);
}
