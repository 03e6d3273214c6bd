/* Faults: the daemon is killed around every effect of a workflow with two phases, Slurm is away or
 * loses answers, a file cannot be read. Nothing is lost, and nothing is done twice. */
#include "tests/unit/daemon_world.h"

#include "lib/file.h"
#include "lib/text.h"

#include <dirent.h>
#include <dlfcn.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char two_phases[] = "name: two\n"
                                 "phases:\n"
                                 "  a:\n"
                                 "    resources: {nodes: 1, gpus: 2, time: 10m}\n"
                                 "    run: echo\n"
                                 "    gate: {low: {value: last(loss), at_most: 2}}\n"
                                 "  b:\n"
                                 "    after: a\n"
                                 "    resources: {nodes: 1, gpus: 2, time: 5m}\n"
                                 "    run: echo\n";

static const char key[] = "00000000000000000000000000000001";

static const char metric[] =
    "{\"seq\":1,\"time\":1,\"type\":\"metric\",\"step\":1,\"values\":{\"loss\":1}}\n";

static unsigned deaths;

/* The daemon has died, or dies at once. Starts it again, without the fault. */
static void survive(struct world *world)
{
    deaths++;
    world_await_crash(world);
    world_start(world, NULL);
    assert_true(world->pid > 0);
}

static bool has_died(struct world *world)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)world->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == world->pid;
}

/* Submits as phasectl does: again and again with the same key, until an answer comes. */
static void submit(struct world *world)
{
    int status = 0;
    json_t *json;
    while (!(json = world_call(world, "POST", "/v1/workflows", world_submission(two_phases, key),
                               &status)))
        survive(world);
    assert_int_equal(status, 201);
    assert_string_equal(world_member(json, "workflow"), "1");
    json_decref(json);
}

/* Pushes as a worker does: again and again until the entry is committed. */
static void push(struct world *world, const char *run, const char *node, const char *entry,
                 long sequence)
{
    const char *const entries[] = {entry, NULL};
    long committed;
    while ((committed = world_push(world, run, node, entries)) != sequence) {
        assert_int_equal(committed, 0); /* no reply */
        survive(world);
    }
}

static char *started(void)
{
    return text_format("{\"seq\":1,\"time\":%lld,\"type\":\"started\",\"job_id\":101,"
                       "\"restarts\":0,\"nodes\":[\"n1\"],\"end_time\":null}",
                       (long long)time(NULL));
}

static char *ended(unsigned final)
{
    long long now = (long long)time(NULL);
    return text_format("{\"seq\":2,\"time\":%lld,\"type\":\"ended\",\"run\":1,\"outcome\":"
                       "\"succeeded\",\"cause\":null,\"exit_code\":0,\"signal\":0,\"message\":\"\","
                       "\"started\":%lld,\"ended\":%lld,\"finals\":{\"n1\":%u},\"last_step\":1}",
                       now, now - 60, now, final);
}

/* Waits for the text at a member of the workflow, even if the daemon dies meanwhile. */
static void await(struct world *world, const char *member, const char *text)
{
    for (int i = 0; i < 4000; i++) {
        int status;
        json_t *json = world_call(world, "GET", "/v1/workflows/1", NULL, &status);
        bool is_there = json && text_equal(world_member(json, member), text);
        json_decref(json);
        if (is_there)
            return;
        if (has_died(world))
            survive(world);
        world_pause();
    }
    char *log = world_read(world, "phased.log");
    print_error("%s is not %s; the daemon's log:\n%s", member, text, log);
    free(log);
    fail();
}

static void await_command(struct world *world, const char *run, const char *verb)
{
    for (int i = 0; i < 100; i++) {
        int status;
        json_t *json = world_worker(world, run, "GET", "command?after=0", NULL, &status);
        bool is_there = json && text_equal(world_member(json, "verb"), verb);
        json_decref(json);
        if (is_there)
            return;
        if (status == 0)
            survive(world);
    }
    fail_msg("never told: %s", verb);
}

/* Runs a whole workflow: the first phase in a job, the second phase in place. */
static void live(struct world *world)
{
    char *start = started(), *end = ended(1), *last_end = ended(0);
    submit(world);
    await(world, "phases.0.run.state", "pending");
    world_slurm_write(world, "state.101", "running");
    push(world, "runs/1/a/1", "lead", start, 1);
    push(world, "runs/1/a/1", "n1", metric, 1);
    push(world, "runs/1/a/1", "lead", end, 2);
    await_command(world, "runs/1/a/1", "next");
    push(world, "runs/1/b/1", "lead", start, 1);
    push(world, "runs/1/b/1", "lead", last_end, 2);
    await_command(world, "runs/1/b/1", "end");
    world_slurm_write(world, "state.101", "completed");
    await(world, "state", "succeeded");
    free(start);
    free(end);
    free(last_end);
}

static void expect_once(struct world *world)
{
    int status;
    json_t *json;
    assert_int_equal(world_slurm_lines(world, "jobs"), 1);
    while (!(json = world_call(world, "GET", "/v1/runs?workflow=1", NULL, &status)))
        survive(world); /* the daemon has died at its last commit */
    assert_int_equal(status, 200);
    assert_int_equal(json_array_size(json_object_get(json, "runs")), 2);
    json_decref(json);
}

static void a_kill_at_any_effect_loses_and_repeats_nothing(void **state)
{
    static const char *const faults[] = {
        "submit:1:before",   "submit:1:after",   "judge:1:before",     "judge:1:after",
        "judge:2:before",    "judge:2:after",    "tell-next:1:before", "tell-next:1:after",
        "tell-end:1:before", "tell-end:1:after",
    };
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        void *made;
        assert_int_equal(world_setup(&made), 0);
        struct world *world = made;
        world_stop(world);
        world_start(world, faults[i]);
        deaths = 0;
        live(world);
        assert_int_equal(deaths, 1);
        expect_once(world);
        assert_true(world_log_has(world, "phase 1/b: active -> deciding"));
        assert_int_equal(world_teardown(&made), 0);
    }
}

static void a_kill_at_any_commit_loses_and_repeats_nothing(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= 12; n++) {
        char *before = text_format("commit:%u:before", n),
             *after = text_format("commit:%u:after", n);
        const char *const faults[] = {before, after};
        for (size_t i = 0; i < 2; i++) {
            void *made;
            assert_int_equal(world_setup(&made), 0);
            struct world *world = made;
            world_stop(world);
            world_start(world, faults[i]);
            live(world);
            expect_once(world);
            assert_int_equal(world_teardown(&made), 0);
        }
        free(before);
        free(after);
    }
}

static void a_kill_around_a_cancellation_cancels_once_restarted(void **state)
{
    static const char *const faults[] = {"cancel-job:1:before", "cancel-job:1:after"};
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        void *made;
        int status;
        assert_int_equal(world_setup(&made), 0);
        struct world *world = made;
        world_stop(world);
        world_start(world, faults[i]);
        submit(world);
        await(world, "phases.0.run.state", "pending");
        json_decref(world_call(world, "POST", "/v1/workflows/1/cancel", NULL, &status));
        survive(world);
        await(world, "state", "cancelled");
        assert_int_equal(world_slurm_lines(world, "jobs"), 1);
        assert_true(world_slurm_lines(world, "cancelled") >= 1);
        assert_int_equal(world_teardown(&made), 0);
    }
}

static void a_submission_waits_for_slurm(void **state)
{
    struct world *world = *state;
    world_slurm_write(world, "mode", "down");
    submit(world);
    world_await(world, "/v1/ping", "cluster.answering", "false");
    world_await(world, "/v1/workflows/1/phases/a/runs/1", "job_reason",
                "Slurm does not answer: Unable to contact the controller");
    world_kill(world);
    world_start(world, NULL);
    world_await(world, "/v1/workflows/1", "phases.0.run.state", "submitting");
    world_slurm_write(world, "mode", "up");
    world_await(world, "/v1/workflows/1", "phases.0.run.state", "pending");
    assert_int_equal(world_slurm_lines(world, "jobs"), 1);
}

static void a_job_whose_answer_was_lost_is_adopted(void **state)
{
    struct world *world = *state;
    world_slurm_write(world, "mode", "lose");
    submit(world);
    world_await(world, "/v1/workflows/1", "phases.0.run.state", "pending");
    world_await(world, "/v1/workflows/1", "phases.0.run.job_id", "101");
    assert_int_equal(world_slurm_lines(world, "jobs"), 1);
}

static void a_phase_that_slurm_refuses_is_held_with_the_message_of_slurm(void **state)
{
    struct world *world = *state;
    world_slurm_write(world, "mode", "refuse");
    submit(world);
    world_await(world, "/v1/workflows/1", "phases.0.state", "held");
    json_t *json = world_expect(world, 200, "GET", "/v1/workflows/1", NULL);
    assert_non_null(strstr(world_member(json, "phases.0.reason"), "because the test wants it"));
    assert_string_equal(world_member(json, "phases.0.run.refused"), "true");
    json_decref(json);
}

/* The job waits, says so, and is submitted when the limit is gone. */
static void a_job_at_a_limit_of_the_site_waits_and_says_so(void **state)
{
    struct world *world = *state;
    world_slurm_write(world, "mode", "limited");
    submit(world);
    world_await(world, "/v1/workflows/1", "phases.0.run.job_reason", "because the test wants it");
    world_await(world, "/v1/workflows/1", "phases.0.run.state", "submitting");
    world_slurm_write(world, "mode", "");
    world_await_lines(world, "jobs", 1);
}

static void await_file(struct world *world, const char *name)
{
    char *path = text_format("%s/%s", world->home, name);
    for (int i = 0; i < 4000 && access(path, F_OK) < 0; i++)
        world_pause();
    assert_int_equal(access(path, F_OK), 0);
    free(path);
}

/* Another daemon, which was paused before it did so, may still submit the job of the run. */
static void a_run_that_was_never_submitted_gets_a_tombstone(void **state)
{
    struct world *world = *state;
    world_slurm_write(world, "mode", "down");
    world_stop(world);
    world_start(world, "submit:1:before");
    submit(world);
    await(world, "phases.0.run.state", "submitting");
    json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/cancel", NULL));
    world_slurm_write(world, "mode", "up");
    await(world, "state", "cancelled");
    await_file(world, "runs/1/a/1/tombstone.json");
    assert_int_equal(world_slurm_lines(world, "jobs"), 0);
}

/* The core keeps 80 bytes of what the job printed, and the letter lies across that limit. */
static void a_run_whose_last_words_are_cut_inside_a_letter_gets_a_tombstone(void **state)
{
    struct world *world = *state;
    static const char words[] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                                "xxxxxxxxxxxxxxx\xc3\xa9 and more\n";
    glob_t found;
    submit(world);
    await(world, "phases.0.run.state", "pending");
    char *pattern = text_format("%s/runs/1/phased-*", world->home);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    char *log = text_format("%s/job.log", found.gl_pathv[0]);
    assert_int_equal(file_replace(log, words, strlen(words), 0600, NULL), 0);
    world_slurm_write(world, "state.101", "failed");
    await_file(world, "runs/1/a/1/tombstone.json");
    json_t *json = world_expect(world, 200, "GET", "/v1/workflows/1/phases/a/runs/1", NULL);
    assert_non_null(strstr(world_member(json, "message"), "xxx?; Slurm: failed"));
    json_decref(json);
    free(log);
    free(pattern);
    globfree(&found);
}

/* A job that the daemon does not know has claimed the folder, and has gone on to another run. */
static void a_second_submission_leaves_the_run_of_the_lead(void **state)
{
    struct world *world = *state;
    glob_t found;
    world_slurm_write(world, "mode", "down");
    submit(world);
    await(world, "phases.0.run.job_reason",
          "Slurm does not answer: Unable to contact the controller");
    char *pattern = text_format("%s/runs/1/phased-*", world->home);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    char *claim = text_format("%s/claim", found.gl_pathv[0]);
    char *current = text_format("%s/current.json", found.gl_pathv[0]);
    assert_int_equal(file_replace(claim, "{}", 2, 0600, NULL), 0);
    assert_int_equal(file_replace(current, "{\"run_dir\":\"/b\"}", 16, 0600, NULL), 0);
    world_slurm_write(world, "mode", "up");
    world_await_lines(world, "jobs", 1);
    json_t *json = json_load_file(current, 0, NULL);
    assert_string_equal(world_member(json, "run_dir"), "/b");
    json_decref(json);
    free(pattern);
    free(claim);
    free(current);
    globfree(&found);
}

static void await_warning(struct world *world, const char *message)
{
    for (int i = 0; i < 4000 && !world_log_has(world, message); i++)
        world_pause();
    assert_true(world_log_has(world, message));
}

/* Makes a file of the first run that can be read only after free_file(), because it is a link to
 * itself. Returns its path. */
static char *jam_file(const struct world *world, const char *name)
{
    char *path = text_format("%s/runs/1/a/1/%s", world->home, name);
    char *parent = text_format("%.*s", (int)(strrchr(path, '/') - path), path);
    assert_int_equal(file_make_folders(parent, 0700, NULL), 0);
    assert_int_equal(symlink(path, path), 0);
    free(parent);
    return path;
}

static void free_file(char *take_path, const char *text)
{
    assert_int_equal(unlink(take_path), 0);
    assert_int_equal(file_replace(take_path, text, strlen(text), 0600, NULL), 0);
    free(take_path);
}

/* A lead may have begun the run alone. */
static void a_run_file_that_cannot_be_read_is_not_replaced(void **state)
{
    struct world *world = *state;
    char *path = jam_file(world, "run.json");
    char *reason = text_format("cannot open %s: Too many levels of symbolic links", path);
    submit(world);
    await(world, "phases.0.run.job_reason", reason);
    assert_int_equal(world_slurm_lines(world, "jobs"), 0);
    free(reason);
    free(path);
}

/* The first run has begun, and its job is over. */
static void end_job(struct world *world)
{
    char *start = started();
    world_slurm_write(world, "state.101", "running");
    push(world, "runs/1/a/1", "lead", start, 1);
    world_slurm_write(world, "state.101", "completed");
    free(start);
}

static void an_outcome_that_cannot_be_read_at_first_still_counts(void **state)
{
    struct world *world = *state;
    char *end = ended(0);
    submit(world);
    await(world, "phases.0.run.state", "pending");
    char *outcome = jam_file(world, "outcome.json");
    end_job(world);
    await_warning(world, "outcome.json: Too many levels of symbolic links; phased tries again for "
                         "5 minutes");
    free_file(outcome, end);
    await(world, "phases.0.run.outcome", "succeeded");
    free(end);
}

static void a_journal_that_cannot_be_read_at_first_still_counts(void **state)
{
    struct world *world = *state;
    char *end = ended(1);
    submit(world);
    await(world, "phases.0.run.state", "pending");
    char *journal = jam_file(world, "journal/n1.jsonl"), *outcome = jam_file(world, "outcome.json");
    free_file(outcome, end);
    end_job(world);
    await_warning(world, "the journal of n1 cannot be read: Too many levels of symbolic links");
    free_file(journal, metric);
    await(world, "phases.0.state", "succeeded"); /* and the gate has the metric */
    free(end);
}

/* Replaces the function of the C library, for the daemon, too. A client of NFS remembers that a
 * folder was missing, until the parent is opened: then a journal.unseen becomes the journal. */
DIR *opendir(const char *path)
{
    __typeof__(opendir) *real = (__typeof__(opendir) *)dlsym(RTLD_NEXT, "opendir");
    char *unseen = text_format("%s/journal.unseen", path);
    char *seen = text_format("%s/journal", path);
    (void)rename(unseen, seen); /* fails in other folders */
    free(unseen);
    free(seen);
    return real(path);
}

/* The nodes cannot reach the daemon, so the daemon reads the files of the run. */
static void a_journal_that_nfs_hides_still_counts(void **state)
{
    struct world *world = *state;
    char *end = ended(1);
    submit(world);
    await(world, "phases.0.run.state", "pending");
    char *journal = jam_file(world, "journal.unseen/n1.jsonl");
    char *outcome = jam_file(world, "outcome.json");
    free_file(journal, metric);
    free_file(outcome, end);
    world_slurm_write(world, "state.101", "completed");
    await(world, "phases.0.state", "succeeded"); /* and the gate has the metric */
    free(end);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kill_at_any_effect_loses_and_repeats_nothing),
        cmocka_unit_test(a_kill_at_any_commit_loses_and_repeats_nothing),
        cmocka_unit_test(a_kill_around_a_cancellation_cancels_once_restarted),
        TEST(a_submission_waits_for_slurm),
        TEST(a_job_whose_answer_was_lost_is_adopted),
        TEST(a_phase_that_slurm_refuses_is_held_with_the_message_of_slurm),
        TEST(a_job_at_a_limit_of_the_site_waits_and_says_so),
        TEST(a_run_that_was_never_submitted_gets_a_tombstone),
        TEST(a_run_whose_last_words_are_cut_inside_a_letter_gets_a_tombstone),
        TEST(a_second_submission_leaves_the_run_of_the_lead),
        TEST(an_outcome_that_cannot_be_read_at_first_still_counts),
        TEST(a_journal_that_cannot_be_read_at_first_still_counts),
        TEST(a_run_file_that_cannot_be_read_is_not_replaced),
        TEST(a_journal_that_nfs_hides_still_counts),
    };
    return cmocka_run_group_tests_name("daemon faults", tests, NULL, NULL);
}
