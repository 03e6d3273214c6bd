/* Incomplete journals: the daemon reports what is missing, and no gate passes as if it had
 * everything. */
#include "tests/unit/daemon_world.h"

#include "lib/clock.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char two_phases[] = "name: two\n"
                                 "phases:\n"
                                 "  a:\n"
                                 "    resources: {nodes: 1, gpus: 2, time: 10m}\n"
                                 "    run: echo\n"
                                 "    gate: {low: {value: last(loss), at_most: 9}}\n"
                                 "  b:\n"
                                 "    after: a\n"
                                 "    resources: {nodes: 1, gpus: 2, time: 5m}\n"
                                 "    run: echo\n"
                                 "    gate: {better: last(loss) < last(a.loss)}\n";

static const char sweep[] = "name: sweep\n"
                            "phases:\n"
                            "  a:\n"
                            "    resources: {nodes: 1, gpus: 2, time: 10m}\n"
                            "    matrix: {lr: [1, 2]}\n"
                            "    best: {min: last(loss), where: last(loss) > 1}\n"
                            "    params: {lr: 0}\n"
                            "    run: echo $lr\n"
                            "  b:\n"
                            "    after: a\n"
                            "    resources: {nodes: 1, gpus: 2, time: 5m}\n"
                            "    run: echo\n";

enum { ENTRIES = 8 };

static char *metric(unsigned sequence)
{
    return text_format("{\"seq\": %u, \"time\": 1.5, \"type\": \"metric\", \"step\": %u, "
                       "\"values\": {\"loss\": %u}}",
                       sequence, sequence, ENTRIES + 1 - sequence);
}

static char *started(unsigned job)
{
    return text_format("{\"seq\": 1, \"time\": %lld, \"type\": \"started\", \"job_id\": %u, "
                       "\"restarts\": 0, \"nodes\": [\"n1\"], \"end_time\": null}",
                       (long long)time(NULL), job);
}

static void leave(struct world *world, const char *folder, const char *name, char *take_text)
{
    char *path = text_format("%s/%s/%s", world->home, folder, name);
    char *parent = text_format("%.*s", (int)(strrchr(path, '/') - path), path);
    assert_int_equal(file_make_folders(parent, 0700, NULL), 0);
    assert_int_equal(file_replace(path, take_text, strlen(take_text), 0600, NULL), 0);
    free(parent);
    free(path);
    free(take_text);
}

/* Writes the journal of n1 with its first `count` entries. `line` replaces the entry `damaged` (0:
 * none). */
static void leave_journal(struct world *world, const char *folder, unsigned count, unsigned damaged,
                          const char *line)
{
    struct text lines = {0};
    for (unsigned i = 1; i <= count; i++) {
        char *entry = i == damaged ? xstrdup(line) : metric(i);
        text_addf(&lines, "%s\n", entry);
        free(entry);
    }
    leave(world, folder, "journal/n1.jsonl", text_steal(&lines));
}

/* Writes the outcome of a run that counts ENTRIES entries of n1. */
static void leave_outcome(struct world *world, const char *folder)
{
    long long now = (long long)time(NULL);
    leave(world, folder, "outcome.json",
          text_format("{\"run\": 1, \"job_id\": 101, \"restarts\": 0, \"outcome\": \"succeeded\", "
                      "\"cause\": null, \"exit_code\": 0, \"signal\": 0, \"message\": \"\", "
                      "\"started\": %lld, \"ended\": %lld, \"finals\": {\"n1\": %d}, "
                      "\"last_step\": %d, \"requeues\": false}",
                      now - 60, now, ENTRIES, ENTRIES));
}

static void submit(struct world *world, const char *spec)
{
    json_decref(world_expect(world, 201, "POST", "/v1/workflows", world_submission(spec, NULL)));
}

/* The run in this folder and job begins, reports `told` entries, and then is silent. */
static void run_begins(struct world *world, const char *folder, unsigned job, unsigned told)
{
    char *state = text_format("state.%u", job);
    world_slurm_write(world, state, "running");
    char *first = started(job);
    assert_int_equal(world_push(world, folder, "lead", (const char *const[]){first, NULL}), 1);
    free(first);
    for (unsigned i = 1; i <= told; i++) {
        char *entry = metric(i);
        assert_int_equal(world_push(world, folder, "n1", (const char *const[]){entry, NULL}), i);
        free(entry);
    }
    free(state);
}

/* The daemon starts again and finds the outcome of the run. Returns when it was started. */
static int64_t run_ends(struct world *world, const char *folder, unsigned job)
{
    char *state = text_format("state.%u", job);
    world_kill(world);
    leave_outcome(world, folder);
    world_slurm_write(world, state, "completed");
    int64_t started_ms = clock_steady_ms();
    world_start(world, NULL);
    free(state);
    return started_ms;
}

/* The first phase ran while the daemon was away, and left this part of its journal. `sixth` is its
 * sixth line; NULL: the line is correct. */
static void first_phase_leaves(struct world *world, unsigned told, unsigned count,
                               const char *sixth)
{
    submit(world, two_phases);
    world_await_lines(world, "jobs", 1);
    run_begins(world, "runs/1/a/1", 101, told);
    leave_journal(world, "runs/1/a/1", count, sixth ? 6 : 0, sixth);
    run_ends(world, "runs/1/a/1", 101);
}

/* Waits for a line of history. */
static void await_history(struct world *world, const char *message)
{
    for (int i = 0; i < 4000; i++) {
        json_t *json = world_expect(world, 200, "GET", "/v1/events?after=0", NULL);
        char *text = json_dumps(json, JSON_COMPACT);
        bool is_there = strstr(text, message) != NULL;
        free(text);
        json_decref(json);
        if (is_there)
            return;
        world_pause();
    }
    fail_msg("the history does not say: %s", message);
}

static void a_whole_journal_passes_the_gate(void **state)
{
    struct world *world = *state;
    first_phase_leaves(world, 3, ENTRIES, NULL);
    world_await(world, "/v1/workflows/1", "phases.0.state", "succeeded");
}

static void a_journal_that_was_cut_does_not_pass_the_gate(void **state)
{
    struct world *world = *state;
    first_phase_leaves(world, 3, 5, NULL);
    world_await(world, "/v1/workflows/1", "phases.0.state", "held");
    world_await(world, "/v1/workflows/1", "phases.0.reason",
                "insufficient data: the journal of n1 lacks entries 6 to 8 of run #1");
    world_await(world, "/v1/workflows/1", "phases.0.hold", "gate");
    world_await(world, "/v1/workflows/1/phases/a/gate", "checks.0.outcome", "insufficient");
    world_await(world, "/v1/workflows/1/phases/a/gate", "checks.0.reason",
                "the journal of n1 lacks entries 6 to 8 of run #1");
    await_history(world, "the journal of n1 has lost entries 6 to 8");
    /* The record has the entries that exist. */
    world_await(world, "/v1/workflows/1/phases/a/runs/1/metrics", "series.loss.4", "4.0");
    assert_int_equal(world_slurm_lines(world, "jobs"), 1);
}

static void a_line_of_garbage_does_not_pass_the_gate(void **state)
{
    struct world *world = *state;
    first_phase_leaves(world, 3, ENTRIES, "@#$%");
    world_await(world, "/v1/workflows/1", "phases.0.state", "held");
    world_await(world, "/v1/workflows/1", "phases.0.reason",
                "insufficient data: the journal of n1 lacks entry 6 of run #1");
    /* The record has the entries after it. */
    world_await(world, "/v1/workflows/1/phases/a/runs/1/metrics", "series.loss.6", "1.0");
}

/* The line is still JSON. It may have been a metric, so it is as bad as garbage. */
static void an_unknown_entry_does_not_pass_the_gate(void **state)
{
    static const char *const entries[] = {
        "{\"seq\":6,\"time\":1.5,\"type\":\"metrjc\",\"step\":6,\"values\":{\"loss\":3}}",
        "{\"seq\":6,\"time\":1.5,\"type\":\"metric\",\"step\":-5,\"values\":{\"loss\":3}}",
        "{\"seq\":6,\"time\":1.5,\"type\":\"metric\",\"step\":6,\"values\":{\"loss\":null}}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void *made;
        assert_int_equal(world_setup(&made), 0);
        first_phase_leaves(made, 3, ENTRIES, entries[i]);
        world_await(made, "/v1/workflows/1", "phases.0.reason",
                    "insufficient data: the journal of n1 lacks entry 6 of run #1");
        await_history(made, "entry 6 of the journal of n1 was not understood");
        assert_int_equal(world_teardown(&made), 0);
    }
}

static void a_missing_journal_does_not_pass_the_gate(void **state)
{
    struct world *world = *state;
    first_phase_leaves(world, 0, 0, NULL);
    world_await(world, "/v1/workflows/1", "phases.0.reason",
                "insufficient data: the journal of n1 lacks entries 1 to 8 of run #1");
}

static void recorded_entries_may_be_missing_from_the_journal(void **state)
{
    struct world *world = *state;
    first_phase_leaves(world, ENTRIES, 2, NULL);
    world_await(world, "/v1/workflows/1", "phases.0.state", "succeeded");
}

static void a_person_may_promote_or_retry_anyway(void **state)
{
    struct world *world = *state;
    first_phase_leaves(world, 3, 5, NULL);
    world_await(world, "/v1/workflows/1", "phases.0.state", "held");
    json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/phases/a/retry", NULL));
    world_await_lines(world, "jobs", 2);
    run_begins(world, "runs/1/a/2", 102, ENTRIES);
    run_ends(world, "runs/1/a/2", 102);
    world_await(world, "/v1/workflows/1", "phases.0.state", "succeeded");
}

static void a_later_gate_that_names_the_phase_is_not_passed_either(void **state)
{
    struct world *world = *state;
    first_phase_leaves(world, 3, 5, NULL);
    world_await(world, "/v1/workflows/1", "phases.0.state", "held");
    json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/phases/a/promote", NULL));
    world_await_lines(world, "jobs", 2);
    run_begins(world, "runs/1/b/1", 102, ENTRIES);
    run_ends(world, "runs/1/b/1", 102);
    world_await(world, "/v1/workflows/1", "phases.1.reason",
                "insufficient data: a: the journal of n1 lacks entries 6 to 8 of run #1");
    json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/phases/b/promote", NULL));
    world_await(world, "/v1/workflows/1", "state", "succeeded");
}

/* A person chooses: the matrix is promoted, or one of its members. */
static void matrix_lacks_entries(struct world *world, const char *promoted, const char *reason)
{
    char *path = text_format("/v1/workflows/1/phases/%s/promote", promoted);
    submit(world, sweep);
    world_await_lines(world, "jobs", 2);
    for (unsigned i = 0; i < 2; i++) {
        char *folder = text_format("runs/1/a.%u/1", i + 1);
        run_begins(world, folder, world_job(i), 1);
        leave_journal(world, folder, i ? 5 : ENTRIES, 0, NULL);
        run_ends(world, folder, world_job(i));
        free(folder);
    }
    world_await(world, "/v1/workflows/1", "phases.2.state", "held");
    world_await(world, "/v1/workflows/1", "phases.2.reason",
                "insufficient data: a.2: the journal of n1 lacks entries 6 to 8 of run #1");
    json_decref(world_expect(world, 200, "POST", path, NULL));
    world_await(world, "/v1/workflows/1", "phases.2.state", "succeeded");
    world_await(world, "/v1/workflows/1", "phases.2.reason", reason);
    free(path);
}

static void a_matrix_does_not_choose_with_incomplete_data(void **state)
{
    matrix_lacks_entries(*state, "a.2", "a.2 is the best, as a person says: lr=2; last(loss) 4");
}

/* `where` counts nevertheless. */
static void a_promoted_matrix_chooses_with_incomplete_data(void **state)
{
    matrix_lacks_entries(*state, "a",
                         "a.2 is the best despite insufficient data: lr=2; last(loss) 4");
}

static void an_unreadable_journal_of_a_running_run_is_reported_at_once(void **state)
{
    struct world *world = *state;
    submit(world, two_phases);
    world_await_lines(world, "jobs", 1);
    run_begins(world, "runs/1/a/1", 101, 2);
    world_kill(world);
    char *path = text_format("%s/runs/1/a/1/journal/n1.jsonl", world->home);
    assert_int_equal(file_make_folders(path, 0700, NULL), 0); /* root may read all files */
    world_start(world, NULL);
    await_history(world, "the journal of n1 cannot be read: Is a directory");
    free(path);
}

static void garbage_in_the_journal_of_a_running_run_is_reported_at_once(void **state)
{
    struct world *world = *state;
    submit(world, two_phases);
    world_await_lines(world, "jobs", 1);
    run_begins(world, "runs/1/a/1", 101, 2);
    world_kill(world);
    leave_journal(world, "runs/1/a/1", 5, 4, "@#$%");
    world_start(world, NULL);
    await_history(world, "the journal of n1 lacks entries 4 to 4");
}

/* The rest is read, while the run goes on and at its end. */
static void a_line_with_a_wrong_number_is_skipped(void **state)
{
    struct world *world = *state;
    char *fourth = metric(4), *stray = metric(999999);
    char *both = text_format("%s\n%s", stray, fourth);
    submit(world, two_phases);
    world_await_lines(world, "jobs", 1);
    run_begins(world, "runs/1/a/1", 101, 2);
    world_kill(world);
    leave_journal(world, "runs/1/a/1", ENTRIES, 4, both);
    world_start(world, NULL);
    world_await(world, "/v1/workflows/1/phases/a/runs/1/metrics", "series.loss.7", "1.0");
    await_history(world, "the journal of n1 has entry 999999 in a wrong place");
    run_ends(world, "runs/1/a/1", 101);
    world_await(world, "/v1/workflows/1", "phases.0.state", "succeeded");
    free(both);
    free(stray);
    free(fourth);
}

/* Holes, as a file system makes them. The daemon reads what follows the first hole; the second is
 * too large. */
static void an_endless_line_takes_little_memory_and_is_reported(void **state)
{
    struct world *world = *state;
    submit(world, two_phases);
    world_await_lines(world, "jobs", 1);
    run_begins(world, "runs/1/a/1", 101, 2);
    world_kill(world);
    leave_journal(world, "runs/1/a/1", 3, 0, NULL);
    char *path = text_format("%s/runs/1/a/1/journal/n1.jsonl", world->home);
    assert_int_equal(truncate(path, 9 << 20), 0);
    FILE *file = fopen(path, "ae");
    assert_non_null(file);
    char *cut = metric(4), *last = metric(ENTRIES);
    assert_true(fprintf(file, "%s\n%s\n", cut, last) > 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(truncate(path, 512 << 20), 0);
    world_start(world, NULL);
    await_history(world, "the journal of n1 has a line of more than 8 MiB: it is passed over");
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    const long most_kib = LONG_MAX; /* sanitizers need memory of their own */
#else
    const long most_kib = 128 << 10;
#endif
    assert_true(world_memory_kib(world) < most_kib);
    world_kill(world);
    leave_outcome(world, "runs/1/a/1");
    world_slurm_write(world, "state.101", "completed");
    world_start(world, NULL);
    world_await(world, "/v1/workflows/1", "phases.0.reason",
                "insufficient data: the journal of n1 lacks entries 4 to 7 of run #1");
    world_await(world, "/v1/workflows/1/phases/a/runs/1/metrics", "series.loss.3", "1.0");
    free(cut);
    free(last);
    free(path);
}

static void entries_that_a_worker_reports_as_lost_are_skipped(void **state)
{
    struct world *world = *state;
    submit(world, two_phases);
    world_await_lines(world, "jobs", 1);
    run_begins(world, "runs/1/a/1", 101, 2);
    char *last = metric(ENTRIES);
    const char *const entries[] = {"{\"seq\": 7, \"time\": 1.5, \"type\": \"lost\", \"from\": 3}",
                                   last, NULL};
    assert_int_equal(world_push(world, "runs/1/a/1", "n1", entries), ENTRIES);
    free(last);
    await_history(world, "the journal of n1 has lost entries 3 to 7");
    long long now = (long long)time(NULL);
    char *end = text_format("{\"seq\": 2, \"time\": %lld, \"type\": \"ended\", \"outcome\": "
                            "\"succeeded\", \"cause\": null, \"started\": %lld, \"ended\": %lld, "
                            "\"finals\": {\"n1\": %d}, \"last_step\": 8}",
                            now, now - 60, now, ENTRIES);
    assert_int_equal(world_push(world, "runs/1/a/1", "lead", (const char *const[]){end, NULL}), 2);
    free(end);
    world_await(world, "/v1/workflows/1", "phases.0.reason",
                "insufficient data: the journal of n1 lacks entries 3 to 7 of run #1");
}

/* Waits until the daemon has missed the job of the first run, or has ended the run. */
static void await_absence(struct world *world)
{
    bool is_missed = false;
    for (int i = 0; i < 4000 && !is_missed; i++) {
        json_t *json = world_expect(world, 200, "GET", "/v1/workflows/1", NULL);
        is_missed = !text_equal(world_member(json, "phases.0.run.job_absent_since"), "null") ||
                    !text_equal(world_member(json, "phases.0.run.outcome"), "null");
        json_decref(json);
        world_pause();
    }
    assert_true(is_missed);
}

/* A controller that has just come back may not know a job yet, and a file server may show a journal
 * later than an outcome. */
static void entries_of_an_absent_job_may_still_come(void **state)
{
    struct world *world = *state;
    submit(world, two_phases);
    world_await_lines(world, "jobs", 1);
    run_begins(world, "runs/1/a/1", 101, 3);
    world_kill(world);
    leave_outcome(world, "runs/1/a/1");
    world_slurm_write(world, "jobs", "");
    world_start(world, NULL);
    await_absence(world);
    leave_journal(world, "runs/1/a/1", ENTRIES, 0, NULL);
    world_await(world, "/v1/workflows/1", "phases.0.state", "succeeded");
}

/* The rest of the journal comes after the daemon has looked once since the end of the job. Returns
 * whether it has come in time: the daemon waits for 5 s. `is_old`: Slurm reports an end when the
 * last processes of the job are gone, and the time that it reports is older. */
static bool the_rest_comes_late(struct world *world, bool is_old)
{
    char *whole = text_format("%s/journal/n1.jsonl", world->home);
    char *path = text_format("%s/runs/1/a/1/journal/n1.jsonl", world->home);
    char *start = text_format("%lld\n", (long long)time(NULL) - 60);
    char *end = text_format("%lld\n", (long long)time(NULL) - 30);
    leave_journal(world, ".", ENTRIES, 0, NULL);
    submit(world, two_phases);
    world_await_lines(world, "jobs", 1);
    if (is_old)
        world_slurm_write(world, "start.101", start);
    world_slurm_write(world, "state.101", "running");
    world_await(world, "/v1/workflows/1/phases/a/runs/1", "job_state", "running");
    run_begins(world, "runs/1/a/1", 101, 3);
    leave_journal(world, "runs/1/a/1", 4, 0, NULL);
    if (is_old)
        world_slurm_write(world, "end.101", end);
    int64_t ended_ms = run_ends(world, "runs/1/a/1", 101);
    world_await(world, "/v1/workflows/1/phases/a/runs/1", "job_state", "completed");
    world_await(world, "/v1/workflows/1/phases/a/runs/1/metrics", "series.loss.3", "5.0");
    assert_int_equal(rename(whole, path), 0);
    bool is_in_time = clock_steady_ms() - ended_ms < 4000;
    if (is_in_time)
        world_await(world, "/v1/workflows/1", "phases.0.state", "succeeded");
    free(end);
    free(start);
    free(path);
    free(whole);
    return is_in_time;
}

static void entries_of_a_job_that_has_just_ended_may_still_come(void **state)
{
    (void)state;
    for (int done = 0, tries = 0; done < 2; tries++) {
        void *made;
        assert_true(tries < 20);
        assert_int_equal(world_setup(&made), 0);
        done += the_rest_comes_late(made, done);
        assert_int_equal(world_teardown(&made), 0);
    }
}

/* People see what a worker reports, in lines and columns. */
static void reports_of_workers_have_limits(void **state)
{
    struct world *world = *state;
    submit(world, two_phases);
    world_await_lines(world, "jobs", 1);
    world_slurm_write(world, "state.101", "running");
    char *first = text_format("{\"seq\": 1, \"time\": %lld, \"type\": \"started\", \"job_id\": 101,"
                              " \"restarts\": 0, \"nodes\": [\"n1\", \"n[0-9]\"]}",
                              (long long)time(NULL));
    assert_int_equal(world_push(world, "runs/1/a/1", "lead", (const char *const[]){first, NULL}),
                     1);
    world_await(world, "/v1/workflows/1/phases/a/runs/1", "nodes.1", "?");
    char letters[1100];
    memset(letters, 'x', sizeof letters);
    /* A letter of two bytes lies across the limit, so it is left out. */
    char *warning = text_format("{\"seq\": 1, \"time\": 2, \"type\": \"warning\", \"message\": "
                                "\"%.1019s\u00e9%.1000s\"}",
                                letters, letters);
    char *named = text_format("{\"seq\": 2, \"time\": 2, \"type\": \"metric\", \"step\": 1, "
                              "\"values\": {\"loss\": 1, \"%.129s\": 2}}",
                              letters);
    const char *const entries[] = {warning, named, NULL};
    assert_int_equal(world_push(world, "runs/1/a/1", "n1", entries), 2);
    char *cut = text_format("\"n1: %.1019s...\"", letters);
    await_history(world, cut);
    await_history(world, "entry 2 of the journal of n1 was not understood: "
                         "a metric's name must have at most 128 bytes");
    free(cut);
    free(named);
    free(warning);
    free(first);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_whole_journal_passes_the_gate),
        TEST(a_journal_that_was_cut_does_not_pass_the_gate),
        TEST(a_line_of_garbage_does_not_pass_the_gate),
        cmocka_unit_test(an_unknown_entry_does_not_pass_the_gate),
        TEST(a_missing_journal_does_not_pass_the_gate),
        TEST(recorded_entries_may_be_missing_from_the_journal),
        TEST(a_person_may_promote_or_retry_anyway),
        TEST(a_later_gate_that_names_the_phase_is_not_passed_either),
        TEST(a_matrix_does_not_choose_with_incomplete_data),
        TEST(a_promoted_matrix_chooses_with_incomplete_data),
        TEST(an_unreadable_journal_of_a_running_run_is_reported_at_once),
        TEST(garbage_in_the_journal_of_a_running_run_is_reported_at_once),
        TEST(a_line_with_a_wrong_number_is_skipped),
        TEST(an_endless_line_takes_little_memory_and_is_reported),
        TEST(entries_that_a_worker_reports_as_lost_are_skipped),
        TEST(entries_of_an_absent_job_may_still_come),
        cmocka_unit_test(entries_of_a_job_that_has_just_ended_may_still_come),
        TEST(reports_of_workers_have_limits),
    };
    return cmocka_run_group_tests_name("daemon: journals", tests, NULL, NULL);
}
