/* What the daemon takes from the members of a matrix, and what it does with params that change. */
#include "tests/unit/daemon_runs.h"

#include "lib/text.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

static const char by_gpu[] = "name: sweep\n"
                             "phases:\n"
                             "  ladder:\n"
                             "    resources: {gpus: 2, time: 1h}\n"
                             "    matrix: {seq: [1, 2]}\n"
                             "    best: {max: last(speed)}\n"
                             "    params: {batch: 32, tokens: =batch * seq}\n"
                             "    by_gpu: {h100: {params: {batch: 64, micro_batch: 8}}}\n"
                             "    run: x $seq $batch $tokens\n"
                             "  train:\n"
                             "    after: ladder\n"
                             "    resources: {gpus: 2, time: 1h}\n"
                             "    params: {seq: =ladder.seq}\n"
                             "    gate: {faster: last(speed) > last(ladder.speed)}\n"
                             "    run: y $seq\n";

/* The phase of workflow 1 runs on an H100 in the job, and reports its speed as JSON. */
static void run(struct world *world, const char *phase, unsigned job, const char *speed)
{
    char folder[64], name[32];
    long long now = (long long)time(NULL);
    (void)snprintf(folder, sizeof folder, "runs/1/%s/1", phase);
    (void)snprintf(name, sizeof name, "state.%u", job);
    world_slurm_write(world, name, "running");
    push(world, folder, "lead",
         text_format("{\"seq\":1,\"time\":%lld,\"type\":\"started\",\"job_id\":%u,\"restarts\":0,"
                     "\"nodes\":[\"n1\"],\"end_time\":null,\"hardware\":{\"model\":\"H100\","
                     "\"memory_gib\":80.0,\"source\":\"driver\",\"by_gpu\":\"h100\"}}",
                     now, job),
         1);
    push(world, folder, "n1",
         text_format("{\"seq\":1,\"time\":%lld,\"type\":\"metric\",\"step\":1,"
                     "\"values\":{\"speed\":%s}}",
                     now, speed),
         1);
    push(world, folder, "lead", ended(2, "succeeded", 1, false), 2);
}

/* The first column of the first row; NULL: SQL's NULL. */
static void expect_record(struct world *world, const char *sql, const char *expected)
{
    sqlite3 *record;
    sqlite3_stmt *stmt;
    char *path = text_format("%s/phased.db", world->home);
    assert_int_equal(sqlite3_open(path, &record), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(record, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    const char *text = (const char *)sqlite3_column_text(stmt, 0);
    if (!text != !expected || (text && !text_equal(text, expected)))
        fail_msg("%s: %s, not %s", sql, text ? text : "NULL", expected ? expected : "NULL");
    assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
    assert_int_equal(sqlite3_close(record), SQLITE_OK);
    free(path);
}

/* `micro_batch` is a param with an H100 only, so the matrix cannot take it. It cannot take `batch`
 * either: all members had the same. */
static void a_choice_leaves_out_what_the_gpu_changed(void **state)
{
    struct world *world = *state;
    json_decref(world_expect(world, 201, "POST", "/v1/workflows", world_submission(by_gpu, NULL)));
    world_await_lines(world, "jobs", 2);
    run(world, "ladder.1", 101, "10");
    run(world, "ladder.2", 102, "20");
    world_await(world, "/v1/workflows/1", "phases.2.state", "succeeded");
    expect_record(world, "SELECT changes FROM choice",
                  "[{\"param\":\"tokens\",\"from\":32,\"to\":64},"
                  "{\"param\":\"seq\",\"from\":1,\"to\":2}]");
    world_await_lines(world, "jobs", 3);
    char *text = world_read(world, "runs/1/train/1/run.json");
    json_t *json = json_loads(text, 0, NULL);
    assert_string_equal(world_member(json, "spec.params.seq"), "2");
    json_decref(json);
    free(text);
    run(world, "train", 103, "21"); /* its gate reads the metric of the best member */
    world_await(world, "/v1/workflows/1", "phases.3.state", "succeeded");
}

#define REUSING(values)                                                                            \
    "name: sweep\n"                                                                                \
    "phases:\n"                                                                                    \
    "  ladder:\n"                                                                                  \
    "    resources: {time: 1h}\n"                                                                  \
    "    matrix: {seq: " values "}\n"                                                              \
    "    best: {max: last(speed), reuse: 1d}\n"                                                    \
    "    run: x $seq\n"

/* A member with a fingerprint equals the members with the same fingerprint. */
static void only_members_with_the_same_known_code_are_equal(void **state)
{
    static const struct {
        const char *root, *commit, *diff, *note, *untracked, *sum;
        const char *equal; /* how many members so far have its fingerprint; NULL: no fingerprint */
    } rows[] = {
        {NULL, NULL, NULL, NULL, NULL, NULL, "1"},
        {NULL, NULL, NULL, NULL, NULL, NULL, "2"},
        {NULL, NULL, NULL, "x", NULL, NULL, NULL},
        {"r", NULL, NULL, NULL, NULL, NULL, NULL},
        {"r", NULL, NULL, "x", NULL, NULL, NULL},
        {"r", "a", NULL, NULL, "", NULL, NULL},
        {"r", "a", "b", NULL, NULL, NULL, NULL},
        {"r", "a", "b", NULL, "", NULL, "1"},
        {"r", "a", "c", NULL, "", NULL, "1"},
        {"r", "a", "b", NULL, "", NULL, "2"},
        {"r", "a", "b", NULL, "new.py\n", NULL, NULL},
        {"r", "a", "b", NULL, "new.py\n", "1", "1"},
        {"r", "a", "b", NULL, "new.py\n", "2", "1"},
        {"r", "a", "b", NULL, "new.py\n", "1", "2"},
        {"r", "a", "b\n+Subproject commit 2b\n", NULL, "", NULL, "1"},
        {"r", "a", "b\n+Subproject commit 1a-dirty\n", NULL, "", NULL, NULL},
    };
    struct world *world = *state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *body = world_submission(REUSING("[1]"), NULL);
        (void)json_object_set_new(body, "provenance",
                                  json_pack("{s:s*, s:s*, s:s*, s:s*, s:s*, s:s*}", "root",
                                            rows[i].root, "commit", rows[i].commit, "diff",
                                            rows[i].diff, "diff_note", rows[i].note, "untracked",
                                            rows[i].untracked, "untracked_sum", rows[i].sum));
        json_decref(world_expect(world, 201, "POST", "/v1/workflows", body));
        expect_record(world,
                      "SELECT nullif((SELECT count(*) FROM member AS other"
                      "                WHERE other.fingerprint = member.fingerprint), 0)"
                      "  FROM member ORDER BY phase DESC",
                      rows[i].equal);
    }
}

/* While the last member still runs. */
static void reused_members_have_values_so_far(void **state)
{
    struct world *world = *state;
    json_decref(world_expect(world, 201, "POST", "/v1/workflows",
                             world_submission(REUSING("[1, 2]"), NULL)));
    world_await_lines(world, "jobs", 2);
    run(world, "ladder.1", 101, "10");
    run(world, "ladder.2", 102, "\"inf\"");
    for (unsigned i = 1; i <= 2; i++) {
        char *out = text_format("%s/runs/1/ladder.%u/out", world->home, i);
        (void)mkdir(out, 0700); /* the worker makes it */
        free(out);
    }
    world_await(world, "/v1/workflows/1", "phases.2.state", "succeeded");
    json_decref(world_expect(world, 201, "POST", "/v1/workflows",
                             world_submission(REUSING("[1, 2, 3]"), NULL)));
    world_await_lines(world, "jobs", 3);
    world_await(world, "/v1/workflows/2", "phases.1.state", "succeeded");
    json_t *json = world_expect(world, 200, "GET", "/v1/workflows/2/phases/ladder?so_far=1", NULL);
    json_t *values = json_object_get(json_object_get(json, "so_far"), "values");
    char *text = json_dumps(values, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(text, "{\"ladder.1\":10.0,\"ladder.2\":\"inf\"}");
    free(text);
    json_decref(json);
}

/* The params of the phase after all others. */
static void expect_train(struct world *world, unsigned workflow, const char *params)
{
    char sql[128];
    (void)snprintf(sql, sizeof sql,
                   "SELECT spec -> 'params' FROM phase WHERE name = 'train' AND workflow = %u",
                   workflow);
    expect_record(world, sql, params);
}

#define SWEEP(name, param)                                                                         \
    "  " name ":\n"                                                                                \
    "    resources: {time: 1h}\n"                                                                  \
    "    matrix: {" param ": [1, 2]}\n"                                                            \
    "    best: {max: last(speed), reuse: 1d}\n"                                                    \
    "    run: x $" param "\n"

/* All results of both are known, so both choose at once. */
static void two_matrices_that_choose_at_once_both_change_the_phase_after_them(void **state)
{
    static const char spec[] =
        "name: two\n"
        "phases:\n" SWEEP("a", "batch") SWEEP("b", "lr") "  train:\n"
                                                         "    after: [a, b]\n"
                                                         "    resources: {time: 1h}\n"
                                                         "    params: {x: =a.batch, y: =b.lr}\n"
                                                         "    run: y $x $y\n";
    static const char *const members[] = {"a.1", "a.2", "b.1", "b.2"};
    static const char *const speeds[] = {"0", "1", "2", "3"};
    struct world *world = *state;
    json_decref(world_expect(world, 201, "POST", "/v1/workflows", world_submission(spec, NULL)));
    world_await_lines(world, "jobs", 4);
    for (unsigned i = 0; i < 4; i++) {
        char *out = text_format("%s/runs/1/%s/out", world->home, members[i]);
        run(world, members[i], 101 + i, speeds[i]);
        (void)mkdir(out, 0700); /* the worker makes it */
        free(out);
    }
    world_await_lines(world, "jobs", 5);
    expect_train(world, 1, "{\"x\":2,\"y\":2}");
    json_decref(world_expect(world, 201, "POST", "/v1/workflows", world_submission(spec, NULL)));
    world_await_lines(world, "jobs", 6);
    expect_train(world, 2, "{\"x\":2,\"y\":2}");
}

#define HALVING(name)                                                                              \
    "  " name ":\n"                                                                                \
    "    resources: {time: 1h}\n"                                                                  \
    "    params: {mb: 64}\n"                                                                       \
    "    remedies: {oom: {set: {mb: mb / 2}}}\n"                                                   \
    "    run: x $mb\n"

/* Both phases fail while the daemon is away. */
static void two_remedies_at_once_both_change_the_phase_after_them(void **state)
{
    static const char spec[] =
        "name: two\n"
        "phases:\n" HALVING("p") HALVING("q") "  train:\n"
                                              "    after: [p, q]\n"
                                              "    resources: {time: 1h}\n"
                                              "    params: {x: =p.mb, y: =q.mb}\n"
                                              "    run: y $x $y\n";
    struct world *world = *state;
    json_decref(world_expect(world, 201, "POST", "/v1/workflows", world_submission(spec, NULL)));
    world_await_lines(world, "jobs", 2);
    world_kill(world);
    for (unsigned i = 0; i < 2; i++) {
        char folder[32], job[32];
        (void)snprintf(folder, sizeof folder, "runs/1/%s/1", i ? "q" : "p");
        (void)snprintf(job, sizeof job, "state.%u", 101 + i);
        leave(world, folder, "outcome.json",
              text_format("{\"run\":%u,\"job_id\":%u,\"restarts\":0,\"outcome\":\"failed\","
                          "\"cause\":\"oom\",\"exit_code\":1,\"signal\":0,\"message\":\"\","
                          "\"started\":1,\"ended\":2,\"finals\":{},\"last_step\":0,"
                          "\"requeues\":false}",
                          i + 1, 101 + i));
        world_slurm_write(world, job, "failed");
    }
    world_start(world, NULL);
    world_await_lines(world, "jobs", 4);
    expect_train(world, 1, "{\"x\":32,\"y\":32}");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_choice_leaves_out_what_the_gpu_changed),
        TEST(reused_members_have_values_so_far),
        TEST(only_members_with_the_same_known_code_are_equal),
        TEST(two_matrices_that_choose_at_once_both_change_the_phase_after_them),
        TEST(two_remedies_at_once_both_change_the_phase_after_them),
    };
    return cmocka_run_group_tests_name("daemon matrix", tests, NULL, NULL);
}
