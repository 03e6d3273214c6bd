/* What limits.yaml does to jobs that wait, and what a plan says about it. */
#include "tests/unit/daemon_world.h"

#include "lib/clock.h"
#include "lib/file.h"
#include "lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

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

static void limit(struct world *world, const char *text)
{
    char *path = text_format("%s/limits.yaml", world->home);
    assert_int_equal(file_replace(path, text, strlen(text), 0600, NULL), 0);
    free(path);
}

/* Waiting workflows look for room every two seconds. New ones must not find it first. The second
 * new one asks when the waiting one is admitted already and does not know yet. */
static void new_workflows_do_not_overtake_waiting_ones(void **state)
{
    struct world *world = *state;
    limit(world, "jobs: 1\n");
    submit(world, one_phase);
    world_await_lines(world, "jobs", 1);
    submit(world, one_phase);
    world_await(world, "/v1/workflows/2", "phases.0.run.job_reason",
                "limits.yaml allows 1 job in Slurm at a time");
    limit(world, "jobs: 2 \n");
    submit(world, one_phase);
    submit(world, one_phase);
    world_await(world, "/v1/workflows/4", "phases.0.run.job_reason",
                "limits.yaml allows 2 jobs in Slurm at a time");
    world_await(world, "/v1/workflows/3", "phases.0.run.job_reason",
                "limits.yaml allows 2 jobs in Slurm at a time");
    world_await(world, "/v1/workflows/2", "phases.0.run.state", "pending");
    assert_int_equal(world_slurm_lines(world, "jobs"), 2);
}

/* The daemon has no free descriptor for a while. The file stays as it is. */
static void limits_that_could_not_be_read_are_read_again(void **state)
{
    struct world *world = *state;
    struct rlimit before, none;
    int waited = 0;
    assert_int_equal(prlimit(world->pid, RLIMIT_NOFILE, NULL, &before), 0);
    none = (struct rlimit){.rlim_cur = 1, .rlim_max = before.rlim_max};
    assert_int_equal(prlimit(world->pid, RLIMIT_NOFILE, &none, NULL), 0);
    limit(world, "jobs: 1\n");
    while (!world_log_has(world, "limits.yaml") && waited++ < WORLD_DEADLINE_MS / 20)
        world_pause();
    assert_int_equal(prlimit(world->pid, RLIMIT_NOFILE, &before, NULL), 0);
    assert_true(world_log_has(world, "limits.yaml: Too many open files"));
    submit(world, one_phase);
    submit(world, one_phase);
    world_await(world, "/v1/workflows/2", "phases.0.run.job_reason",
                "limits.yaml allows 1 job in Slurm at a time");
}

static void all_candidates_may_wait_in_slurm_if_one_may_run(void **state)
{
    struct world *world = *state;
    limit(world, "running_jobs: 1\ngpus: 2\n");
    submit(world, candidates);
    submit(world, one_phase);
    world_await(world, "/v1/workflows/2", "phases.0.run.job_reason",
                "limits.yaml allows 1 running job at a time, and as many run or may start");
    assert_int_equal(world_slurm_lines(world, "jobs"), 2);
    limit(world, "gpus: 2\n");
    world_await(world, "/v1/workflows/2", "phases.0.run.job_reason",
                "it needs 2 of the 2 GPUs that limits.yaml allows");
    limit(world, "jobs: 2\n");
    world_await(world, "/v1/workflows/2", "phases.0.run.job_reason",
                "limits.yaml allows 2 jobs in Slurm at a time");
    limit(world, "gpus: 1\n");
    world_await(world, "/v1/workflows/2", "phases.0.run.job_reason",
                "it asks for 2 GPUs; limits.yaml allows 1");
}

static const char *planned(struct world *world, const char *resources)
{
    static char danger[200];
    char *spec = text_format("name: p\nphases:\n  a:\n    resources: {%s, time: 1h}\n    run: x\n",
                             resources);
    json_t *json = world_expect(world, 200, "POST", "/v1/plan", world_submission(spec, NULL));
    (void)snprintf(danger, sizeof danger, "%s", world_member(json, "phases.0.dangers.0"));
    json_decref(json);
    free(spec);
    return danger;
}

/* A job waits for GPUs that limits.yaml does not allow yet. */
static void a_plan_lets_a_job_wait_only_for_what_limits_it(void **state)
{
    struct world *world = *state;
    limit(world, "gpus: 3\n");
    submit(world, one_phase);
    world_await_lines(world, "jobs", 1);
    submit(world, one_phase);
    world_await(world, "/v1/workflows/2", "phases.0.run.job_reason",
                "it needs 2 of the 3 GPUs that limits.yaml allows");
    assert_string_equal(planned(world, "gpus: 1"),
                        "it would not be submitted yet: other jobs that wait for limits.yaml come "
                        "first");
    assert_string_equal(planned(world, "nodes: 1"), "(absent)");
}

/* A shell or an editor may empty the file just before it writes the new text. */
static void a_limits_file_that_is_empty_for_a_moment_has_its_old_limits(void **state)
{
    static const char waits[] =
        "it would not be submitted yet: limits.yaml allows 1 job in Slurm at a time";
    struct world *world = *state;
    bool is_in_time = false;
    limit(world, "jobs: 1\n");
    submit(world, one_phase);
    world_await_lines(world, "jobs", 1);
    for (int tries = 0; !is_in_time; tries++) { /* until less than 2 s have passed */
        limit(world, "jobs: 1\n");
        assert_string_equal(planned(world, "gpus: 1"), waits);
        int64_t begin_ms = clock_steady_ms();
        limit(world, "");
        const char *danger = planned(world, "gpus: 1");
        is_in_time = clock_steady_ms() - begin_ms < 2000;
        if (is_in_time)
            assert_string_equal(danger, waits);
        assert_true(tries < 20);
    }
    submit(world, one_phase);
    world_await_lines(world, "jobs", 2); /* the file stays empty, so there are no limits */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {
        TEST(new_workflows_do_not_overtake_waiting_ones),
        TEST(limits_that_could_not_be_read_are_read_again),
        TEST(all_candidates_may_wait_in_slurm_if_one_may_run),
        TEST(a_plan_lets_a_job_wait_only_for_what_limits_it),
        TEST(a_limits_file_that_is_empty_for_a_moment_has_its_old_limits),
    };
    return cmocka_run_group_tests_name("daemon limits", tests, NULL, NULL);
}
