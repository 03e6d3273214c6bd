/* Nodes that new jobs do not use: they took runs down, or a person does not want them. */
#include "tests/unit/daemon_world.h"

#include "lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char one_phase[] = "name: one\n"
                                "phases:\n"
                                "  a:\n"
                                "    resources: {nodes: 1, gpus: 2, time: 10m}\n"
                                "    slurm: {exclude: \"n7\"}\n"
                                "    run: echo\n";

static void submit(struct world *world, size_t jobs)
{
    json_decref(
        world_expect(world, 201, "POST", "/v1/workflows", world_submission(one_phase, NULL)));
    world_await_lines(world, "jobs", jobs);
}

/* The lead of the first run starts, and ends by the loss of n2. */
static void lose_n2(struct world *world)
{
    long long now = (long long)time(NULL);
    char *started = text_format("{\"seq\":1,\"time\":%lld,\"type\":\"started\",\"job_id\":101,"
                                "\"restarts\":0,\"nodes\":[\"n2\"],\"end_time\":null}",
                                now);
    char *ended = text_format("{\"seq\":2,\"time\":%lld,\"type\":\"ended\",\"outcome\":\"failed\","
                              "\"cause\":\"node_fail\",\"node\":\"n2\",\"message\":\"lost\","
                              "\"started\":%lld,\"ended\":%lld,\"finals\":{},\"last_step\":null}",
                              now, now - 60, now);
    const char *const entries[] = {started, ended, NULL};
    world_slurm_write(world, "state.101", "running");
    assert_int_equal(world_push(world, "runs/1/a/1", "lead", entries), 2);
    world_await(world, "/v1/workflows/1/phases/a/runs/1", "cause", "node_fail");
    free(started);
    free(ended);
}

static void assert_excluded(struct world *world, const char *lines)
{
    char *text = world_read(world, "slurm/excluded");
    assert_string_equal(text, lines);
    free(text);
}

static json_t *exclusion(const char *message, int seconds)
{
    return json_pack("{s:s, s:o}", "message", message, "seconds",
                     seconds ? json_integer(seconds) : json_null());
}

static void a_node_that_failed_is_left_out_of_later_jobs(void **state)
{
    struct world *world = *state;
    submit(world, 1);
    lose_n2(world);
    /* Without its own second job, which is due after 10 s. */
    json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/cancel", NULL));
    world_await(world, "/v1/nodes", "nodes.0.node", "n2");
    world_await(world, "/v1/nodes", "nodes.0.run", "1/a#1");
    world_await(world, "/v1/nodes", "nodes.0.cause", "node_fail");
    world_kill(world); /* the record has it together with the end of the run */
    world_start(world, NULL);
    submit(world, 2);
    assert_excluded(world, "101 n7\n102 n7,n2\n");
    json_decref(world_expect(world, 200, "DELETE", "/v1/nodes/n2", NULL));
    submit(world, 3);
    assert_excluded(world, "101 n7\n102 n7,n2\n103 n7\n");
}

static void a_person_excludes_and_clears_nodes(void **state)
{
    struct world *world = *state;
    json_decref(world_expect(world, 200, "POST", "/v1/nodes/n2", exclusion("noise", 0)));
    json_decref(world_expect(world, 200, "POST", "/v1/nodes/n1", exclusion("fan", 3600)));
    json_decref(world_expect(world, 400, "POST", "/v1/nodes/n3", exclusion("no such", 0)));
    json_t *json = world_expect(world, 200, "GET", "/v1/nodes", NULL);
    assert_string_equal(world_member(json, "nodes.0.message"), "fan");
    assert_string_equal(world_member(json, "nodes.1.until"), "null");
    assert_string_equal(world_member(json, "nodes.1.cause"), "null");
    json_decref(json);
    submit(world, 1);
    assert_excluded(world, "101 n7,n1,n2\n");
    json_decref(world_expect(world, 200, "DELETE", "/v1/nodes/n2", NULL));
    json_decref(world_expect(world, 404, "DELETE", "/v1/nodes/n2", NULL));
    json_decref(world_expect(world, 400, "POST", "/v1/nodes/n[1-2]", exclusion("all", 0)));
    json_decref(world_expect(world, 400, "POST", "/v1/nodes/n1", exclusion("long", -1)));
    json_decref(world_expect(world, 405, "PUT", "/v1/nodes/n1", NULL));
}

static void a_job_uses_excluded_nodes_if_too_few_others_are_left(void **state)
{
    struct world *world = *state;
    json_decref(world_expect(world, 200, "POST", "/v1/nodes/n1", exclusion("fan", 3600)));
    world_slurm_write(world, "mode", "few"); /* the spec excludes no node */
    json_decref(world_expect(world, 201, "POST", "/v1/workflows",
                             world_submission("name: any\n"
                                              "phases:\n"
                                              "  a:\n"
                                              "    resources: {nodes: 1, gpus: 2, time: 10m}\n"
                                              "    run: echo\n",
                                              NULL)));
    world_await_lines(world, "jobs", 1);
    assert_excluded(world, "");
    world_await(world, "/v1/workflows/1", "phases.0.run.state", "pending");
    json_t *json = world_expect(world, 200, "GET", "/v1/events?after=0&workflow=1&wait=0", NULL);
    char *text = json_dumps(json, JSON_COMPACT);
    assert_non_null(
        strstr(text, "Slurm refused the job while nodes were left out (because the test wants it): "
                     "phased submits the job again, and no longer leaves these nodes out"));
    free(text);
    json_decref(json);
}

static void a_job_that_slurm_refuses_on_all_nodes_is_refused_once(void **state)
{
    struct world *world = *state;
    json_decref(world_expect(world, 200, "POST", "/v1/nodes/n1", exclusion("fan", 3600)));
    world_slurm_write(world, "mode", "refuse");
    json_decref(
        world_expect(world, 201, "POST", "/v1/workflows", world_submission(one_phase, NULL)));
    world_await(world, "/v1/workflows/1", "phases.0.state", "held");
    assert_int_equal(world_slurm_lines(world, "jobs"), 0);
    json_t *json = world_expect(world, 200, "GET", "/v1/nodes", NULL);
    assert_int_equal(json_array_size(json_object_get(json, "nodes")), 1); /* no node is blamed */
    json_decref(json);
}

/* The message of the lead begins with the reason: it is told once. */
static void a_preemption_is_told_once(void **state)
{
    struct world *world = *state;
    submit(world, 1);
    long long now = (long long)time(NULL);
    char *started = text_format("{\"seq\":1,\"time\":%lld,\"type\":\"started\",\"job_id\":101,"
                                "\"restarts\":0,\"nodes\":[\"n2\"],\"end_time\":null}",
                                now);
    char *stopping = text_format("{\"seq\":2,\"time\":%lld,\"type\":\"stopping\",\"why\":"
                                 "\"preempted\",\"message\":\"preempted by Slurm\"}",
                                 now);
    world_slurm_write(world, "state.101", "running");
    assert_int_equal(
        world_push(world, "runs/1/a/1", "lead", (const char *const[]){started, stopping, NULL}), 2);
    world_await(world, "/v1/workflows/1/phases/a/runs/1", "state", "stopping");
    json_t *json = world_expect(world, 200, "GET", "/v1/events?after=0&workflow=1&wait=0", NULL);
    char *text = json_dumps(json, JSON_COMPACT);
    assert_non_null(strstr(text, "\"preempted by Slurm\""));
    free(text);
    json_decref(json);
    free(started);
    free(stopping);
}

/* Writes what kind of sandbox the daemon's Slurm is, next to its slurm.conf. */
static void choose_kind(struct world *world, const char *kind)
{
    char *conf = text_format("%s/slurm.conf", world->home);
    char *path = text_format("%s/kind", world->home);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(kind, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(setenv("SLURM_CONF", conf, 1), 0);
    free(path);
    free(conf);
}

static void pretend_gpus_are_not_examined(void **state)
{
    static const struct {
        const char *kind, *driver, *preflight;
    } rows[] = {
        {"pretend\n", NULL, "off"},
        {"pretend\n", "/fake/libnvidia-ml.so", "quick"}, /* somebody pretends a driver, too */
        {"real\n", NULL, "quick"},
    };
    struct world *world = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        world_stop(world);
        choose_kind(world, rows[i].kind);
        world_start(world, NULL);
        json_t *body = world_submission(one_phase, NULL);
        json_t *environment = json_object_get(body, "environment");
        if (rows[i].driver)
            (void)json_object_set_new(environment, "PHASED_NVML", json_string(rows[i].driver));
        json_decref(world_expect(world, 201, "POST", "/v1/workflows", body));
        world_await_lines(world, "jobs", i + 1);
        char *path = text_format("runs/%zu/a/1/run.json", i + 1);
        char *text = world_read(world, path);
        json_t *run = json_loads(text, 0, NULL);
        assert_string_equal(world_member(run, "spec.preflight"), rows[i].preflight);
        json_decref(run);
        free(text);
        free(path);
    }
    assert_int_equal(unsetenv("SLURM_CONF"), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_node_that_failed_is_left_out_of_later_jobs),
        TEST(a_person_excludes_and_clears_nodes),
        TEST(a_job_uses_excluded_nodes_if_too_few_others_are_left),
        TEST(a_job_that_slurm_refuses_on_all_nodes_is_refused_once),
        TEST(a_preemption_is_told_once),
        TEST(pretend_gpus_are_not_examined),
    };
    return cmocka_run_group_tests_name("daemon nodes", tests, NULL, NULL);
}
