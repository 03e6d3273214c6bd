/* Jobs and workers that come back after their run was over. Nothing runs twice, and nothing that
 * they report counts as part of the run. */
#include "tests/unit/daemon_world.h"

#include "lib/file.h"
#include "lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

static const char one_phase[] = "name: one\n"
                                "phases:\n"
                                "  a:\n"
                                "    resources: {nodes: 1, gpus: 2, time: 10m}\n"
                                "    run: echo\n";

static void submit(struct world *world)
{
    json_decref(
        world_expect(world, 201, "POST", "/v1/workflows", world_submission(one_phase, NULL)));
}

/* Waits until the history of workflow 1 has a warning with this text. Returns how many it has. */
static unsigned await_warnings(struct world *world, const char *text)
{
    unsigned found = 0;
    for (int waited = 0; !found && waited < WORLD_DEADLINE_MS / 20; waited++) {
        json_t *json = world_expect(world, 200, "GET", "/v1/events?workflow=1", NULL), *event;
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

static void a_job_of_a_workflow_that_is_over_is_cancelled(void **state)
{
    struct world *world = *state;
    submit(world);
    world_await(world, "/v1/workflows/1", "phases.0.run.state", "pending");
    json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/cancel", NULL));
    world_await(world, "/v1/workflows/1", "state", "cancelled");
    assert_int_equal(world_slurm_lines(world, "cancelled"), 1);
    world_stop(world);
    world_slurm_write(world, "state.101", "running");
    world_start(world, NULL); /* it has nothing about the workflow in memory */
    world_await_lines(world, "cancelled", 2);
    assert_int_equal(await_warnings(world, "job 101 was over, and Slurm has it again"), 1);
}

static void a_cancellation_that_slurm_has_forgotten_is_repeated(void **state)
{
    struct world *world = *state;
    submit(world);
    world_await(world, "/v1/workflows/1", "phases.0.run.state", "pending");
    world_slurm_write(world, "mode", "forget");
    json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/cancel", NULL));
    world_await_least(world, "cancelled", 1);
    world_slurm_write(world, "mode", "up");
    world_await_least(world, "cancelled", 2);
    world_await(world, "/v1/workflows/1", "state", "cancelled");
}

/* Slurm showed the end of the job, and there is no outcome. */
static void lose_the_run(struct world *world)
{
    world_await_lines(world, "jobs", 1);
    world_slurm_write(world, "state.101", "running");
    const char *const started[] = {"{\"seq\":1,\"time\":1,\"type\":\"started\",\"job_id\":101,"
                                   "\"restarts\":0,\"nodes\":[\"n1\"],\"end_time\":null}",
                                   NULL};
    assert_int_equal(world_push(world, "runs/1/a/1", "lead", started), 1);
    world_await(world, "/v1/workflows/1", "phases.0.state", "active");
    world_stop(world);
    world_slurm_write(world, "state.101", "failed");
    world_start(world, NULL); /* it polls at once */
    world_await(world, "/v1/workflows/1/phases/a/runs/1", "outcome", "lost");
}

static void a_report_after_the_run_was_lost_is_a_warning(void **state)
{
    struct world *world = *state;
    static const char *const late[] = {
        "{\"seq\":1,\"time\":2,\"type\":\"metric\",\"step\":7,\"values\":{\"loss\":1.5}}", NULL};
    static const char *const later[] = {
        "{\"seq\":2,\"time\":2,\"type\":\"metric\",\"step\":8,\"values\":{\"loss\":1.5}}", NULL};
    int status;
    submit(world);
    lose_the_run(world);
    char *tombstone = text_format("%s/runs/1/a/1/tombstone.json", world->home);
    for (int waited = 0; access(tombstone, F_OK) < 0 && waited < WORLD_DEADLINE_MS / 20; waited++)
        world_pause();
    assert_int_equal(access(tombstone, F_OK), 0);
    assert_int_equal(world_push(world, "runs/1/a/1", "n1", late),
                     1); /* the worker need not send it again */
    assert_int_equal(world_push(world, "runs/1/a/1", "n1", later), 2);
    assert_int_equal(await_warnings(world, "the run is over, but a worker (n1) still reports"), 1);
    json_t *json = world_expect(world, 200, "GET", "/v1/workflows/1/phases/a/runs/1/metrics", NULL);
    assert_int_equal(json_object_size(json_object_get(json, "series")), 0);
    json_decref(json);
    json = world_worker(world, "runs/1/a/1", "GET", "command?after=0", NULL, &status);
    assert_string_equal(world_member(json, "verb"), "stop");
    assert_string_equal(world_member(json, "why"), "over");
    json_decref(json);
    free(tombstone);
}

/* Pushes one entry. `take_rest` is what follows the type. */
static void push(struct world *world, const char *node, long sequence, const char *type,
                 char *take_rest)
{
    char *entry = text_format("{\"seq\":%ld,\"time\":%lld,\"type\":\"%s\",%s}", sequence,
                              (long long)time(NULL), type, take_rest);
    const char *const entries[] = {entry, NULL};
    assert_int_equal(world_push(world, "runs/1/a/1", node, entries), sequence);
    free(take_rest);
    free(entry);
}

static void put(const char *folder, const char *name, const char *data)
{
    const struct utimbuf before = {time(NULL) - 2, time(NULL) - 2};
    char *path = text_format("%s/%s", folder, name);
    assert_int_equal(file_make_folders(folder, 0700, NULL), 0);
    assert_int_equal(file_replace(path, data, strlen(data), 0600, NULL), 0);
    assert_int_equal(utime(path, &before), 0);
    free(path);
}

/* A run has begun that saves below `home`/step_{step}. */
static void begin_to_save(struct world *world)
{
    char *there = text_format("%s/runs/1/a/1/checkpoints.json", world->home);
    char *noted = text_format("{\"pattern\":\"%s/step_{step}\",\"there\":[]}", world->home);
    char *spec = text_format("%s    checkpoint: {path: \"$PHASED_OUT/step_{step}\"}\n", one_phase);
    json_decref(world_expect(world, 201, "POST", "/v1/workflows", world_submission(spec, NULL)));
    world_await_lines(world, "jobs", 1);
    world_slurm_write(world, "state.101", "running");
    push(world, "lead", 1, "started",
         text_format("\"job_id\":101,\"restarts\":0,\"nodes\":[\"n1\"],\"end_time\":null"));
    assert_int_equal(file_replace(there, noted, strlen(noted), 0600, NULL), 0);
    free(spec);
    free(noted);
    free(there);
}

/* A program under the user's own srun lives longer than its agents, and saves when Slurm ends the
 * job. */
static void the_next_run_resumes_from_a_checkpoint_saved_after_the_end(void **state)
{
    struct world *world = *state;
    char *ten = text_format("%s/step_10", world->home);
    char *eleven = text_format("%s/step_11", world->home);
    char *twelve = text_format("%s/step_12", world->home);
    char *torn = text_format("%s/step_13", world->home);
    begin_to_save(world);
    put(ten, "model", "1234");
    put(ten, "state", "5");
    push(world, "n1", 1, "checkpoint", text_format("\"path\":\"%s\",\"step\":10,\"bytes\":5", ten));
    /* Nobody has seen this checkpoint become whole, so its size says nothing about the next one. */
    put(eleven, "model", "12341234");
    put(eleven, "state", "5");
    push(world, "lead", 2, "ended",
         text_format("\"run\":0,\"job_id\":101,\"restarts\":0,\"outcome\":\"failed\","
                     "\"cause\":\"exit\",\"exit_code\":1,\"signal\":0,\"message\":\"\","
                     "\"guard\":null,\"started\":1,\"ended\":2,\"finals\":{},"
                     "\"last_step\":11,\"requeues\":false"));
    world_await(world, "/v1/workflows/1", "phases.0.state", "held");
    world_await(world, "/v1/workflows/1", "phases.0.checkpoint", eleven);
    world_slurm_write(world, "state.101", "failed");
    put(twelve, "model", "1234");
    put(twelve, "state", "5");
    put(torn, "model", "12345"); /* the other file is missing */
    json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/phases/a/retry", NULL));
    world_await_lines(world, "jobs", 2);
    char *text = world_read(world, "runs/1/a/2/run.json");
    json_t *run = json_loads(text, 0, NULL);
    assert_string_equal(world_member(run, "resume.path"), twelve);
    json_decref(run);
    world_await(world, "/v1/workflows/1/phases/a/runs/2", "resume", twelve);
    world_await(world, "/v1/workflows/1", "phases.0.checkpoint", twelve);
    free(text);
    free(torn);
    free(twelve);
    free(eleven);
    free(ten);
}

/* The agents were killed as soon as the guard had failed. */
static void what_was_saved_before_a_guard_failed_is_found(void **state)
{
    static const char *const names[] = {"step_10", "step_12", "moved", "step_14", "step_20"};
    struct world *world = *state;
    char *folders[5], *moved = text_format("%s/step_13", world->home);
    char *late = text_format("%s/step_14/model", world->home);
    begin_to_save(world);
    for (size_t i = 0; i < 5; i++) {
        folders[i] = text_format("%s/%s", world->home, names[i]);
        put(folders[i], "model", "1234");
    }
    push(world, "n1", 1, "checkpoint",
         text_format("\"path\":\"%s\",\"step\":10,\"bytes\":4", folders[0]));
    push(world, "n1", 2, "suspect", text_format("\"step\":20,\"message\":\"NaN\""));
    assert_int_equal(utime(late, NULL), 0); /* so its number is not one of the metric's steps */
    push(world, "lead", 2, "ended",
         text_format("\"run\":0,\"job_id\":101,\"restarts\":0,\"outcome\":\"failed\","
                     "\"cause\":\"nan\",\"exit_code\":0,\"signal\":15,\"message\":\"\","
                     "\"guard\":null,\"started\":1,\"ended\":2,\"finals\":{},"
                     "\"last_step\":20,\"requeues\":false"));
    world_await(world, "/v1/workflows/1", "phases.0.state", "held");
    world_await(world, "/v1/workflows/1", "phases.0.checkpoint", folders[1]);
    world_slurm_write(world, "state.101", "failed");
    world_kill(world);
    assert_int_equal(rename(folders[2], moved), 0); /* the next daemon finds it */
    world_start(world, NULL);
    json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/phases/a/retry", NULL));
    world_await_lines(world, "jobs", 2);
    world_await(world, "/v1/workflows/1/phases/a/runs/2", "resume", moved);
    for (size_t i = 0; i < 5; i++)
        free(folders[i]);
    free(late);
    free(moved);
}

/* The member of a run's run.json, as text; valid until the next call. */
static const char *prepared(struct world *world, unsigned attempt, const char *member)
{
    static char value[128];
    char *name = text_format("runs/1/a/%u/run.json", attempt), *text = world_read(world, name);
    json_t *json = json_loads(text, 0, NULL);
    (void)snprintf(value, sizeof value, "%s", world_member(json, member));
    json_decref(json);
    free(text);
    free(name);
    return value;
}

/* As a lead that has found a newer one after the run was prepared. */
static void resume_from(struct world *world, unsigned attempt, const char *path, int step)
{
    char *name = text_format("runs/1/a/%u/run.json", attempt), *text = world_read(world, name);
    char *whole = text_format("%s/%s", world->home, name);
    json_t *json = json_loads(text, 0, NULL);
    (void)json_object_set_new(json, "resume", json_pack("{s:s, s:i}", "path", path, "step", step));
    char *changed = json_dumps(json, 0);
    assert_int_equal(file_replace(whole, changed, strlen(changed), 0600, NULL), 0);
    json_decref(json);
    free(changed);
    free(whole);
    free(text);
    free(name);
}

static void end(struct world *world, const char *run, unsigned job)
{
    char *entry =
        text_format("{\"seq\":2,\"time\":%lld,\"type\":\"ended\",\"run\":0,\"job_id\":%u,"
                    "\"restarts\":0,\"outcome\":\"failed\",\"cause\":\"exit\",\"exit_code\":1,"
                    "\"signal\":0,\"message\":\"\",\"guard\":null,\"started\":1,\"ended\":2,"
                    "\"finals\":{},\"last_step\":13,\"requeues\":false}",
                    (long long)time(NULL), job);
    const char *const entries[] = {entry, NULL};
    assert_int_equal(world_push(world, run, "lead", entries), 2);
    free(entry);
}

static void start(struct world *world, const char *run, unsigned job)
{
    char *entry = text_format("{\"seq\":1,\"time\":%lld,\"type\":\"started\",\"job_id\":%u,"
                              "\"restarts\":0,\"nodes\":[\"n1\"],\"end_time\":null}",
                              (long long)time(NULL), job);
    const char *const entries[] = {entry, NULL};
    assert_int_equal(world_push(world, run, "lead", entries), 1);
    free(entry);
}

/* The lead of the second run has found it. */
static void what_was_saved_after_the_next_run_was_prepared_is_in_the_record(void **state)
{
    struct world *world = *state;
    char *ten = text_format("%s/step_10", world->home);
    char *twelve = text_format("%s/step_12", world->home);
    char *there = text_format("%s/runs/1/a/1/checkpoints.json", world->home);
    char *noted = text_format("{\"pattern\":\"%s/step_{step}\",\"there\":[]}", world->home);
    char *spec = text_format("%s    checkpoint: {path: \"$PHASED_OUT/step_{step}\"}\n", one_phase);
    json_decref(world_expect(world, 201, "POST", "/v1/workflows", world_submission(spec, NULL)));
    world_await_lines(world, "jobs", 1);
    assert_string_equal(prepared(world, 1, "known_step"), "(absent)"); /* nothing was before */
    start(world, "runs/1/a/1", 101);
    assert_int_equal(file_replace(there, noted, strlen(noted), 0600, NULL), 0);
    put(ten, "model", "1234");
    push(world, "n1", 1, "checkpoint", text_format("\"path\":\"%s\",\"step\":10,\"bytes\":4", ten));
    end(world, "runs/1/a/1", 101);
    world_await(world, "/v1/workflows/1", "phases.0.state", "held");
    world_slurm_write(world, "state.101", "failed");
    json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/phases/a/retry", NULL));
    world_await_lines(world, "jobs", 2);
    assert_string_equal(prepared(world, 2, "resume.step"), "10");
    assert_string_equal(prepared(world, 2, "known_step"), "10");
    put(twelve, "model", "1234");
    resume_from(world, 2, twelve, 12);
    start(world, "runs/1/a/2", 102);
    world_await(world, "/v1/workflows/1/phases/a/runs/2", "resume", twelve);
    world_await(world, "/v1/workflows/1", "phases.0.checkpoint", twelve);
    end(world, "runs/1/a/2", 102);
    world_await(world, "/v1/workflows/1", "phases.0.state", "held");
    world_slurm_write(world, "state.102", "failed");
    json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/phases/a/retry",
                             json_pack("{s:s}", "from", "10")));
    world_await_lines(world, "jobs", 3);
    assert_string_equal(prepared(world, 3, "resume.step"), "10");
    assert_string_equal(prepared(world, 3, "known_step"), "(absent)"); /* a person has chosen */
    free(spec);
    free(noted);
    free(there);
    free(twelve);
    free(ten);
}

/* Starts the daemon with this cluster and these jobs (NULL: as before), and waits until it has
 * asked the cluster. */
static void start_in(struct world *world, const char *cluster, const char *jobs)
{
    world_stop(world);
    if (jobs)
        world_slurm_write(world, "jobs", jobs);
    world_slurm_write(world, "name", cluster);
    world_slurm_write(world, "polls", "");
    world_start(world, NULL);
    world_await_least(world, "polls", 1);
}

static const char of_another_cluster[] = "the jobs of this home are in cluster fake, and this "
                                         "Slurm is cluster other: stop the daemon, set "
                                         "SLURM_CONF and start it, or cancel the workflows";

/* Workflow 1 waits in the cluster `fake`. Its job is lost after it was absent for 1 s. Polls come
 * every 2 s. */
static void wait_in_fake(struct world *world)
{
    world_stop(world);
    assert_int_equal(setenv("PHASED_ABSENCE_S", "1", 1), 0);
    world_start(world, NULL);
    submit(world);
    world_await(world, "/v1/workflows/1", "phases.0.run.state", "pending");
}

static void another_cluster_is_asked_for_nothing_while_jobs_live(void **state)
{
    struct world *world = *state;
    wait_in_fake(world);
    char *jobs = world_read(world, "slurm/jobs");
    start_in(world, "other", "");
    world_await(world, "/v1/ping", "cluster.message", of_another_cluster);
    submit(world);
    world_await_least(world, "polls", 4);
    json_t *ping = world_expect(world, 200, "GET", "/v1/ping", NULL);
    assert_string_equal(world_member(ping, "cluster.name"), "other");
    json_decref(ping);
    /* A submission is given up without Slurm. */
    json_decref(world_expect(world, 200, "POST", "/v1/workflows/2/cancel", NULL));
    world_await(world, "/v1/workflows/2", "state", "cancelled");
    submit(world);
    world_await(world, "/v1/workflows/1", "phases.0.run.state", "pending");
    assert_int_equal(world_slurm_lines(world, "jobs"), 0);

    start_in(world, "fake", jobs);
    world_await_lines(world, "jobs", 2); /* that of workflow 3 */
    world_slurm_write(world, "state.101", "running");
    world_await(world, "/v1/workflows/1", "phases.0.run.state", "starting");
    assert_int_equal(world_slurm_lines(world, "cancelled"), 0);
    free(jobs);
}

static void a_home_without_live_jobs_may_change_its_cluster(void **state)
{
    struct world *world = *state;
    wait_in_fake(world);
    start_in(world, "other", "");
    world_await(world, "/v1/ping", "cluster.message", of_another_cluster);
    json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/cancel", NULL));
    world_await(world, "/v1/ping", "cluster.message", "");
    world_await(world, "/v1/workflows/1", "state", "cancelled");
    submit(world);
    world_await(world, "/v1/workflows/2", "phases.0.run.state", "pending");
    assert_int_equal(world_slurm_lines(world, "jobs"), 1);
    start_in(world, "fake", NULL);
    world_await(
        world, "/v1/ping", "cluster.message",
        "the jobs of this home are in cluster other, and this Slurm is cluster fake: stop the "
        "daemon, set SLURM_CONF and start it, or cancel the workflows");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

/* The run is lost anyway, and the warning says why. */
static void the_outcome_of_another_job_is_ignored(void **state)
{
    struct world *world = *state;
    static const char left[] =
        "{\"run\":0,\"job_id\":7,\"token\":\"0123456789abcdef0123456789abcdef\",\"restarts\":0,"
        "\"outcome\":\"succeeded\",\"cause\":null,\"exit_code\":0,\"signal\":0,\"message\":\"\","
        "\"started\":1,\"ended\":2,\"finals\":{},\"last_step\":9,\"requeues\":false}";
    submit(world);
    world_await_lines(world, "jobs", 1);
    char *path = text_format("%s/runs/1/a/1/outcome.json", world->home);
    assert_int_equal(file_replace(path, left, strlen(left), 0600, NULL), 0);
    lose_the_run(world);
    assert_int_equal(await_warnings(world, "a lead of another job has left it"), 1);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_of_a_workflow_that_is_over_is_cancelled),
        TEST(a_cancellation_that_slurm_has_forgotten_is_repeated),
        TEST(a_report_after_the_run_was_lost_is_a_warning),
        TEST(the_next_run_resumes_from_a_checkpoint_saved_after_the_end),
        TEST(what_was_saved_before_a_guard_failed_is_found),
        TEST(what_was_saved_after_the_next_run_was_prepared_is_in_the_record),
        TEST(the_outcome_of_another_job_is_ignored),
        TEST(another_cluster_is_asked_for_nothing_while_jobs_live),
        TEST(a_home_without_live_jobs_may_change_its_cluster),
    };
    return cmocka_run_group_tests_name("daemon back", tests, NULL, NULL);
}
