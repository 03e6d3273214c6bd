/* Submissions to the daemon: their jobs and folders, their keys, and several at once. */
#include "tests/unit/daemon_world.h"

#include "lib/text.h"

#include <stdlib.h>
#include <string.h>

static const char two_phases[] = "name: two\n"
                                 "phases:\n"
                                 "  a:\n"
                                 "    resources: {nodes: 1, time: 10m}\n"
                                 "    params: {steps: 10}\n"
                                 "    run: echo $steps\n"
                                 "  b: {after: a, resources: {nodes: 1, time: 5m}, run: echo}\n";

static void a_submission_makes_a_job_and_its_folder(void **state)
{
    struct world *world = *state;
    json_decref(
        world_expect(world, 201, "POST", "/v1/workflows", world_submission(two_phases, NULL)));
    world_await_lines(world, "jobs", 1);
    world_await(world, "/v1/workflows/1", "phases.0.run.state", "pending");
    world_await(world, "/v1/workflows/1", "phases.1.state", "blocked");
    char *text = world_read(world, "runs/1/a/1/run.json");
    json_t *run = json_loads(text, 0, NULL);
    assert_string_equal(world_member(run, "phase"), "a");
    assert_string_equal(world_member(run, "attempt"), "1");
    assert_string_equal(world_member(run, "workdir"), "/tmp");
    assert_string_equal(world_member(run, "environment.WHO"), "anna");
    assert_string_equal(world_member(run, "spec.params.steps"), "10");
    assert_string_equal(world_member(run, "resume"), "null");
    char *script_path = text_format("%s/job.sh", world_member(run, "job_dir"));
    char *script = world_read(world, script_path + strlen(world->home) + 1);
    assert_non_null(strstr(script, "exec '/opt/phase d/bin/phase-worker' lead "));
    free(script_path);
    free(script);
    free(text);
    json_decref(run);
}

static void the_same_key_is_the_same_workflow(void **state)
{
    struct world *world = *state;
    static const char key[] = "0123456789abcdef0123456789abcdef";
    for (int i = 0; i < 2; i++) {
        json_t *json =
            world_expect(world, 201, "POST", "/v1/workflows", world_submission(two_phases, key));
        assert_string_equal(world_member(json, "workflow"), "1");
        json_decref(json);
    }
    world_await(world, "/v1/workflows/1", "phases.0.run.state", "pending");
    assert_int_equal(world_slurm_lines(world, "jobs"), 1);
}

/* A list of submissions with these files and specs, and keys that follow `key`. */
static json_t *submissions(const char *const (*rows)[2], size_t count, const char *key)
{
    json_t *body = world_submission("", NULL), *list = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *item = json_pack("{s:s, s:s}", "file", rows[i][0], "spec", rows[i][1]);
        assert_non_null(item);
        if (key)
            (void)json_object_set_new(item, "key", json_sprintf("%s%02zu", key, i));
        (void)json_array_append_new(list, item);
    }
    (void)json_object_set_new(body, "workflows", list);
    return body;
}

static size_t workflow_count(struct world *world)
{
    json_t *json = world_expect(world, 200, "GET", "/v1/workflows", NULL);
    size_t count = json_array_size(json_object_get(json, "workflows"));
    json_decref(json);
    return count;
}

static void several_submissions_are_answered_together(void **state)
{
    struct world *world = *state;
    static const char *const rows[][2] = {
        {"a.yaml", two_phases}, {"b.yaml", two_phases}, {"a.yaml", two_phases}};
    for (int i = 0; i < 2; i++) { /* the second time, the keys are known */
        json_t *json = world_expect(world, 201, "POST", "/v1/workflows",
                                    submissions(rows, 3, "0123456789abcdef0123456789abcd"));
        assert_int_equal(json_array_size(json_object_get(json, "workflows")), 3);
        assert_string_equal(world_member(json, "workflows.0.workflow"), "1");
        assert_string_equal(world_member(json, "workflows.2.workflow"), "3");
        assert_string_equal(world_member(json, "workflows.2.name"), "two");
        json_decref(json);
    }
    world_await_lines(world, "jobs", 3);
    assert_int_equal(workflow_count(world), 3);
    json_t *json = world_expect(world, 200, "GET", "/v1/workflows/2", NULL);
    assert_string_equal(world_member(json, "file"), "b.yaml");
    assert_string_equal(world_member(json, "workdir"), "/tmp"); /* all submissions share it */
    json_decref(json);
}

static void one_wrong_submission_keeps_all_from_the_queue(void **state)
{
    struct world *world = *state;
    static const char *const rows[][2] = {
        {"a.yaml", two_phases}, {"b.yaml", "phases: 7"}, {"c.yaml", "name: c\nphase: {}\n"}};
    json_t *json = world_expect(world, 422, "POST", "/v1/workflows", submissions(rows, 3, NULL));
    assert_string_equal(world_member(json, "error.message"),
                        "2 of 3 files have problems; no workflow is queued");
    json_t *problems = json_object_get(json_object_get(json, "error"), "problems");
    assert_string_equal(world_member(problems, "0.file"), "b.yaml");
    char *last = text_format("%zu.file", json_array_size(problems) - 1);
    assert_string_equal(world_member(problems, last), "c.yaml");
    free(last);
    json_decref(json);

    json = world_expect(world, 422, "POST", "/v1/workflows", submissions(rows, 2, NULL));
    assert_string_equal(world_member(json, "error.message"),
                        "b.yaml has 2 problems; no workflow is queued");
    json_decref(json);
    /* A key stands for one workflow. */
    json_t *body = submissions(rows, 1, NULL), *list = json_object_get(body, "workflows");
    json_t *first = json_array_get(list, 0);
    (void)json_object_set_new(first, "key", json_string("0123456789abcdef0123456789abcdef"));
    (void)json_array_append(list, first);
    json = world_expect(world, 400, "POST", "/v1/workflows", body);
    assert_string_equal(world_member(json, "error.where"), "workflows[1]");
    json_decref(json);
    assert_int_equal(workflow_count(world), 0);
    assert_int_equal(world_slurm_lines(world, "jobs"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_submission_makes_a_job_and_its_folder),
        TEST(the_same_key_is_the_same_workflow),
        TEST(several_submissions_are_answered_together),
        TEST(one_wrong_submission_keeps_all_from_the_queue),
    };
    return cmocka_run_group_tests_name("daemon: submissions", tests, NULL, NULL);
}
