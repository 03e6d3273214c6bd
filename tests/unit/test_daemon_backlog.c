/* A daemon that was away reads everything that runs have left in files, and takes little memory. */
#include "tests/unit/daemon_runs.h"

#include "lib/file.h"
#include "lib/text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ENTRIES = 5 * 16384 }; /* five turns, so that the last of them has room for no more */

static const char long_phase[] = "name: one\n"
                                 "phases:\n"
                                 "  a:\n"
                                 "    resources: {nodes: 1, gpus: 2, time: 10m}\n"
                                 "    run: echo\n"
                                 "    gate: {all: {value: last(loss), at_least: %d}}\n";

/* Nothing was pushed: the lead's journal is read, too, before the run counts as over. */
static void the_journals_of_a_long_run_take_little_memory(void **state)
{
    struct world *world = *state;
    struct text lines = {0};
    long long now = (long long)time(NULL);
    char *spec = text_format(long_phase, ENTRIES);
    json_decref(world_expect(world, 201, "POST", "/v1/workflows", world_submission(spec, NULL)));
    world_await_lines(world, "jobs", 1);
    world_slurm_write(world, "state.101", "running");
    world_await(world, "/v1/workflows/1", "phases.0.run.state", "starting");
    world_kill(world);
    char *folder = text_format("%s/runs/1/a/1/journal", world->home);
    assert_int_equal(file_make_folders(folder, 0700, NULL), 0);
    for (int i = 1; i <= ENTRIES; i++)
        text_addf(&lines,
                  "{\"seq\":%d,\"time\":1.5,\"type\":\"metric\",\"step\":%d,\"values\":"
                  "{\"loss\":%d}}\n",
                  i, i, i);
    leave(world, "runs/1/a/1", "journal/n1.jsonl", text_steal(&lines));
    char *first = started(0);
    leave(world, "runs/1/a/1", "journal/lead.jsonl",
          text_format("%s\n{\"seq\":2,\"time\":1.5,\"type\":\"warning\",\"message\":\"told\"}",
                      first));
    free(first);
    leave(world, "runs/1/a/1", "outcome.json",
          text_format("{\"run\": 1, \"job_id\": 101, \"restarts\": 0, \"outcome\": \"succeeded\", "
                      "\"cause\": null, \"exit_code\": 0, \"signal\": 0, \"message\": \"\", "
                      "\"started\": %lld, \"ended\": %lld, \"finals\": {\"n1\": %d}, "
                      "\"last_step\": %d, \"requeues\": false}",
                      now - 60, now, ENTRIES, ENTRIES));
    world_slurm_write(world, "state.101", "completed");
    world_start(world, NULL);
    world_await(world, "/v1/workflows/1", "phases.0.state", "succeeded");
    expect_run(world, 1, "warnings.0.message", "told");
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    const long most_kib = LONG_MAX; /* sanitizers need memory of their own */
#else
    const long most_kib = 64 << 10;
#endif
    print_message("# VmHWM %ld KiB\n", world_memory_kib(world));
    assert_true(world_memory_kib(world) < most_kib);
    free(folder);
    free(spec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_journals_of_a_long_run_take_little_memory, world_setup,
                                        world_teardown),
    };
    return cmocka_run_group_tests_name("daemon_backlog", tests, NULL, NULL);
}
