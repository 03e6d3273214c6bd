/* Reports and files of the workers of one phase. */
#include "tests/unit/daemon_runs.h"

#include "lib/file.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char one_phase[] = "name: one\n"
                         "phases:\n"
                         "  a:\n"
                         "    resources: {nodes: 1, gpus: 2, time: 10m}\n"
                         "    run: echo\n"
                         "    checkpoint: {path: \"$PHASED_OUT/step_{step}\"}\n";

char *started(unsigned restarts)
{
    return text_format("{\"seq\":1,\"time\":%lld,\"type\":\"started\",\"job_id\":101,"
                       "\"restarts\":%u,\"nodes\":[\"n1\"],\"end_time\":null}",
                       (long long)time(NULL), restarts);
}

const char *run_checkpoint_path(const struct world *world, unsigned step)
{
    static char path[128];
    (void)snprintf(path, sizeof path, "%s/step_%u", world->home, step);
    return path;
}

char *checkpoint(const struct world *world, unsigned sequence, unsigned step)
{
    const char *path = run_checkpoint_path(world, step);
    assert_int_equal(file_replace(path, "1234", 4, 0600, NULL), 0);
    return text_format("{\"seq\":%u,\"time\":%lld,\"type\":\"checkpoint\",\"path\":\"%s\","
                       "\"step\":%u,\"bytes\":4}",
                       sequence, (long long)time(NULL) - 1, path, step);
}

char *ended(unsigned sequence, const char *outcome, unsigned step, bool requeues)
{
    long long now = (long long)time(NULL);
    char *head = sequence
                     ? text_format("\"seq\":%u,\"time\":%lld,\"type\":\"ended\",", sequence, now)
                     : xstrdup("");
    char *text =
        text_format("{%s\"run\":0,\"job_id\":101,\"restarts\":0,\"outcome\":\"%s\",\"cause\":%s,"
                    "\"exit_code\":0,\"signal\":0,\"message\":\"\",\"guard\":null,\"started\":%lld,"
                    "\"ended\":%lld,\"finals\":{},\"last_step\":%u,\"requeues\":%s}",
                    head, outcome, text_equal(outcome, "failed") ? "\"exit\"" : "null", now - 60,
                    now, step, requeues ? "true" : "false");
    free(head);
    return text;
}

void push(struct world *world, const char *run, const char *node, char *take_entry, long sequence)
{
    const char *const entries[] = {take_entry, NULL};
    assert_int_equal(world_push(world, run, node, entries), sequence);
    free(take_entry);
}

void leave(struct world *world, const char *folder, const char *name, char *take_text)
{
    char *path = text_format("%s/%s/%s", world->home, folder, name);
    char *parent = text_format("%.*s", (int)(strrchr(path, '/') - path), path);
    char *line = text_format("%s\n", take_text);
    assert_int_equal(file_make_folders(parent, 0700, NULL), 0);
    assert_int_equal(file_replace(path, line, strlen(line), 0600, NULL), 0);
    free(parent);
    free(path);
    free(line);
    free(take_text);
}

void run_first_attempt(struct world *world)
{
    run_first_attempt_of(world, one_phase);
}

void run_first_attempt_of(struct world *world, const char *spec)
{
    json_decref(world_expect(world, 201, "POST", "/v1/workflows", world_submission(spec, NULL)));
    world_await_lines(world, "jobs", 1);
    world_slurm_write(world, "state.101", "running");
    push(world, "runs/1/a/1", "lead", started(0), 1);
    push(world, "runs/1/a/1", "n1", checkpoint(world, 1, 10), 1);
    world_await(world, "/v1/workflows/1", "phases.0.run.state", "running");
}

void expect_run(struct world *world, unsigned attempt, const char *member, const char *text)
{
    char *path = text_format("/v1/workflows/1/phases/a/runs/%u", attempt);
    world_await(world, path, member, text);
    free(path);
}

void expect_next(struct world *world, const char *of, const char *run)
{
    int status;
    json_t *json = world_worker(world, of, "GET", "command?after=0", NULL, &status);
    assert_int_equal(status, 200);
    assert_string_equal(world_member(json, "verb"), "next");
    assert_true(text_ends(world_member(json, "run_dir"), run));
    json_decref(json);
}
