/* Phases side by side in one job: what the daemon tells the host of the job. */
#include "tests/unit/daemon_runs.h"

#include "lib/clock.h"
#include "lib/text.h"

#include <stdlib.h>
#include <string.h>

static const char pair[] = "name: pair\n"
                           "phases:\n"
                           "  a:\n"
                           "    resources: {nodes: 1, gpus: 2, time: 10m}\n"
                           "    run: echo\n"
                           "    checkpoint: {path: \"$PHASED_OUT/step_{step}\"}\n"
                           "  b:\n"
                           "    colocate: a\n"
                           "    run: echo\n";

static json_t *read_json(struct world *world, const char *name)
{
    char *text = world_read(world, name);
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    free(text);
    return json;
}

/* The folder of the job of a run; the caller frees it. */
static char *job_dir(struct world *world, const char *run)
{
    char *name = text_format("%s/run.json", run);
    json_t *json = read_json(world, name);
    char *path = text_format("%s", world_member(json, "job_dir"));
    json_decref(json);
    free(name);
    return path;
}

/* Waits until guests.json of the host names `first` and then `second`. NULL: no folder. */
static void await_guests(struct world *world, const char *host, const char *first,
                         const char *second)
{
    char *name = text_format("%s/guests.json", host + strlen(world->home) + 1);
    json_t *expected = json_array();
    if (first)
        (void)json_array_append_new(expected, json_string(first));
    if (second)
        (void)json_array_append_new(expected, json_string(second));
    int64_t deadline_ms = clock_steady_ms() + WORLD_DEADLINE_MS;
    for (bool is_there = false; !is_there; world_pause()) {
        if (clock_steady_ms() > deadline_ms)
            fail_msg("%s does not become as expected", name);
        json_t *json = read_json(world, name);
        is_there = json_equal(json_object_get(json, "job_dirs"), expected);
        json_decref(json);
    }
    json_decref(expected);
    free(name);
}

static void the_host_learns_of_a_run_that_goes_on_in_its_own_folder(void **state)
{
    struct world *world = *state;
    json_decref(world_expect(world, 201, "POST", "/v1/workflows", world_submission(pair, NULL)));
    world_await_lines(world, "jobs", 1);
    world_slurm_write(world, "state.101", "running");
    push(world, "runs/1/a/1", "lead", started(0), 1);
    push(world, "runs/1/b/1", "lead", started(0), 1);
    push(world, "runs/1/a/1", "n1", checkpoint(world, 1, 10), 1);
    char *host = job_dir(world, "runs/1/a/1"), *guest = job_dir(world, "runs/1/b/1");
    await_guests(world, host, guest, NULL);
    push(world, "runs/1/a/1", "lead", ended(2, "preempted", 31, true), 2);
    await_guests(world, host, host, guest);
    free(host);
    free(guest);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_host_learns_of_a_run_that_goes_on_in_its_own_folder),
    };
    return cmocka_run_group_tests_name("daemon beside", tests, NULL, NULL);
}
