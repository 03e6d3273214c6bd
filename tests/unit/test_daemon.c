/* The daemon without Slurm: journals, gates, promotions, commands, bad input. */
#include "tests/unit/daemon_world.h"

#include "lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char two_phases[] = "name: two\n"
                                 "phases:\n"
                                 "  a:\n"
                                 "    resources: {nodes: 1, gpus: 2, time: 10m}\n"
                                 "    params: {steps: 10}\n"
                                 "    run: echo $steps\n"
                                 "    gate:\n"
                                 "      low: {value: last(loss), at_most: 2}\n"
                                 "      falling: last(loss) < first(loss)\n"
                                 "  b:\n"
                                 "    after: a\n"
                                 "    resources: {nodes: 1, gpus: 2, time: 5m}\n"
                                 "    run: echo\n";

static const char old_start[] =
    "{\"seq\":1,\"time\":1.5,\"type\":\"started\",\"job_id\":101,\"restarts\":0,"
    "\"nodes\":[\"n1\"],\"end_time\":null}";

static void submit(struct world *world, const char *spec)
{
    json_decref(world_expect(world, 201, "POST", "/v1/workflows", world_submission(spec, NULL)));
}

static long push_started(struct world *world, const char *run_folder)
{
    char *entry = text_format("{\"seq\":1,\"time\":%lld,\"type\":\"started\",\"job_id\":101,"
                              "\"restarts\":0,\"nodes\":[\"n1\"],\"end_time\":null}",
                              (long long)time(NULL));
    long committed = world_push(world, run_folder, "lead", (const char *const[]){entry, NULL});
    free(entry);
    return committed;
}

/* The last entry of the lead, with the time of now, so that the allocation is still kept. */
static char *ended(unsigned sequence, const char *outcome, const char *cause, unsigned final)
{
    double now = (double)time(NULL);
    return text_format(
        "{\"seq\":%u,\"time\":%.1f,\"type\":\"ended\",\"run\":1,\"outcome\":\"%s\","
        "\"cause\":%s,\"exit_code\":0,\"signal\":0,\"message\":\"\",\"started\":%.1f,"
        "\"ended\":%.1f,\"finals\":{\"n1\":%u},\"last_step\":2}",
        sequence, now, outcome, cause, now - 60, now, final);
}

static void push_loss(struct world *world, const char *run_folder, double first, double last)
{
    char *one = text_format("{\"seq\":1,\"time\":1.0,\"type\":\"metric\",\"step\":1,\"values\":"
                            "{\"loss\":%f}}",
                            first);
    char *two = text_format("{\"seq\":2,\"time\":2.0,\"type\":\"metric\",\"step\":2,\"values\":"
                            "{\"loss\":%f,\"grad_norm\":\"nan\"}}",
                            last);
    assert_int_equal(world_push(world, run_folder, "n1", (const char *const[]){one, two, NULL}), 2);
    free(one);
    free(two);
}

/* Phase a of workflow 1 runs in the first job, and succeeds with these losses. */
static void run_first_phase(struct world *world, double first, double last)
{
    world_await_lines(world, "jobs", 1);
    world_slurm_write(world, "state.101", "running");
    assert_int_equal(push_started(world, "runs/1/a/1"), 1);
    world_await(world, "/v1/workflows/1", "phases.0.state", "active");
    push_loss(world, "runs/1/a/1", first, last);
    char *end = ended(2, "succeeded", "null", 2);
    assert_int_equal(world_push(world, "runs/1/a/1", "lead", (const char *const[]){end, NULL}), 2);
    free(end);
}

static void ping_answers_with_version_and_cluster(void **state)
{
    struct world *world = *state;
    world_await(world, "/v1/ping", "cluster.name", "fake");
    json_t *json = world_expect(world, 200, "GET", "/v1/ping", NULL);
    assert_string_equal(world_member(json, "version"), "test");
    assert_string_equal(world_member(json, "cluster.answering"), "true");
    assert_string_equal(world_member(json, "home"), world->home);
    json_decref(json);
    world_stop(world);
}

static void the_answer_says_what_is_wrong_with_a_request(void **state)
{
    struct world *world = *state;
    static const struct {
        int status;
        const char *method, *path, *body, *code;
    } rows[] = {
        {404, "GET", "/v1/elephants", NULL, "not_found"},
        {404, "GET", "/v1/workflows/0", NULL, "not_found"},
        {404, "GET", "/v1/workflows/99999999999999999999", NULL, "not_found"},
        {404, "GET", "/v1/workflows/7", NULL, "not_found"},
        {404, "GET", "/v1/workflows/7/phases/a", NULL, "not_found"},
        {404, "POST", "/v1/workflows/7/cancel", NULL, "not_found"},
        {404, "POST", "/v1/workflows/7/explode", NULL, "not_found"},
        {405, "DELETE", "/v1/workflows/7", NULL, "bad_request"},
        {400, "GET", "/v1/events?after=soon", NULL, "bad_request"},
        {400, "POST", "/v1/workflows", "[]", "bad_request"},
        {400, "POST", "/v1/workflows", "{}", "bad_request"},
        {400, "POST", "/v1/workflows", "{\"spec\": 1, \"workdir\": \"/\"}", "bad_request"},
        {400, "POST", "/v1/workflows", "{\"spec\": \"\", \"workdir\": \"here\"}", "bad_request"},
        {400, "POST", "/v1/workflows", "{\"spec\": \"\", \"workdir\": \"/\", \"hold\": \"yes\"}",
         "bad_request"},
        {400, "POST", "/v1/workflows", "{\"spec\": \"\", \"workdir\": \"/\", \"after\": 0}",
         "bad_request"},
        {400, "POST", "/v1/workflows", "{\"workflows\": {}}", "bad_request"},
        {400, "POST", "/v1/workflows", "{\"workflows\": []}", "bad_request"},
        {400, "POST", "/v1/workflows", "{\"workflows\": [7]}", "bad_request"},
        {400, "POST", "/v1/workflows", "{\"workflows\": [{\"workdir\": \"/\"}]}", "bad_request"},
        {422, "POST", "/v1/workflows", "{\"spec\": \"phases: 7\", \"workdir\": \"/\"}", "bad_spec"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *body = rows[i].body ? json_loads(rows[i].body, 0, NULL) : NULL;
        json_t *json = world_expect(world, rows[i].status, rows[i].method, rows[i].path, body);
        assert_string_equal(world_member(json, "error.code"), rows[i].code);
        json_decref(json);
    }
}

static void a_body_that_is_too_large_is_refused(void **state)
{
    struct world *world = *state;
    size_t size = 17 << 20;
    char *spec = malloc(size + 1);
    assert_non_null(spec);
    memset(spec, 'x', size);
    spec[size] = '\0';
    int status = 0;
    json_t *json =
        world_call(world, "POST", "/v1/workflows", world_submission(spec, NULL), &status);
    /* The reply may get lost, because the rest of the body is not read. */
    assert_true(!json || status == 413);
    json_decref(json);
    free(spec);
    json_decref(world_expect(world, 200, "GET", "/v1/ping", NULL));
}

static void a_passed_gate_promotes_in_place(void **state)
{
    struct world *world = *state;
    int status;
    submit(world, two_phases);
    run_first_phase(world, 3, 1);
    json_t *next = world_worker(world, "runs/1/a/1", "GET", "command?after=0", NULL, &status);
    assert_int_equal(status, 200);
    assert_string_equal(world_member(next, "verb"), "next");
    assert_true(text_ends(world_member(next, "run_dir"), "/runs/1/b/1"));
    json_decref(next);

    assert_int_equal(push_started(world, "runs/1/b/1"), 1);
    world_await(world, "/v1/workflows/1", "phases.1.state", "active");
    char *end = ended(2, "succeeded", "null", 0);
    assert_int_equal(world_push(world, "runs/1/b/1", "lead", (const char *const[]){end, NULL}), 2);
    free(end);
    world_await(world, "/v1/workflows/1", "state", "succeeded");
    next = world_worker(world, "runs/1/b/1", "GET", "command?after=0", NULL, &status);
    assert_string_equal(world_member(next, "verb"), "end");
    json_decref(next);

    assert_int_equal(world_slurm_lines(world, "jobs"), 1);
    json_t *gate = world_expect(world, 200, "GET", "/v1/workflows/1/phases/a/gate", NULL);
    assert_string_equal(world_member(gate, "decided"), "passed");
    assert_string_equal(world_member(gate, "decided_by"), "gate");
    assert_string_equal(world_member(gate, "checks.0.outcome"), "passed");
    json_decref(gate);
    world_await(world, "/v1/workflows/1", "phases.0.promoted", "in_place");
    world_await(world, "/v1/workflows/1", "phases.0.reason", "promoted by its gate");
    world_await(world, "/v1/workflows/1", "phases.1.reason", "no gate");
    world_slurm_write(world, "state.101", "completed");
    world_stop(world);
    world_start(world, NULL);
    world_await(world, "/v1/workflows/1", "state", "succeeded");
}

static void a_gate_tells_what_it_would_find_while_its_phase_is_active(void **state)
{
    struct world *world = *state;
    static const char path[] = "/v1/workflows/1/phases/a/gate?so_far=1";
    const char *next = strstr(two_phases, "  b:");
    char *spec =
        text_format("%.*s      recent: {value: mean(loss), over: 50 steps, at_most: 2}\n%s",
                    (int)(next - two_phases), two_phases, next);
    submit(world, spec);
    free(spec);
    json_t *gate = world_expect(world, 200, "GET", path, NULL);
    assert_null(json_object_get(gate, "so_far")); /* nothing has begun */
    json_decref(gate);
    world_await_lines(world, "jobs", 1);
    world_slurm_write(world, "state.101", "running");
    assert_int_equal(push_started(world, "runs/1/a/1"), 1);
    world_await(world, "/v1/workflows/1", "phases.0.state", "active");
    world_await(world, path, "so_far.0.outcome", "insufficient");
    push_loss(world, "runs/1/a/1", 3, 2.5);
    world_await(world, path, "so_far.0.outcome", "failed");
    world_await(world, path, "so_far.0.name", "low");
    world_await(world, path, "so_far.1.outcome", "passed");
    world_await(world, path, "so_far.2.outcome", "insufficient"); /* two of fifty steps */
    gate = world_expect(world, 200, "GET", "/v1/workflows/1/phases/a/gate", NULL);
    assert_null(json_object_get(gate, "so_far")); /* it was not asked for */
    assert_true(json_is_null(json_object_get(gate, "decided")));
    assert_int_equal(json_array_size(json_object_get(gate, "checks")), 0);
    json_decref(gate);
    char *end = ended(2, "succeeded", "null", 2);
    assert_int_equal(world_push(world, "runs/1/a/1", "lead", (const char *const[]){end, NULL}), 2);
    free(end);
    world_await(world, path, "decided", "failed");
    gate = world_expect(world, 200, "GET", path, NULL);
    assert_string_equal(world_member(gate, "checks.2.outcome"), "failed"); /* no more will come */
    assert_null(json_object_get(gate, "so_far"));
    json_decref(gate);
}

/* The spec causes both: only these values make the result no number, and `dt` never came. */
static void a_gate_distinguishes_errors_from_missing_data(void **state)
{
    static const char spec[] =
        "name: two\n"
        "phases:\n"
        "  a:\n"
        "    resources: {nodes: 1, gpus: 2, time: 10m}\n"
        "    run: echo\n"
        "    gate:\n"
        "      odd: {value: 'last(loss) == 2.5 and \"x\" or 1', at_most: 2}\n"
        "      timed: last(dt) < 1\n";
    struct world *world = *state;
    submit(world, spec);
    run_first_phase(world, 3, 2.5);
    world_await(world, "/v1/workflows/1", "phases.0.reason",
                "gate failed, cannot be judged: odd; without data: timed");
}

static void a_failed_gate_holds_until_a_person_promotes(void **state)
{
    struct world *world = *state;
    submit(world, two_phases);
    run_first_phase(world, 3, 2.5);
    world_await(world, "/v1/workflows/1", "phases.0.state", "held");
    world_await(world, "/v1/workflows/1", "phases.0.reason", "gate failed: low");
    world_slurm_write(world, "state.101", "completed");
    json_t *json = world_expect(world, 409, "POST", "/v1/workflows/1/phases/a/release", NULL);
    assert_string_equal(world_member(json, "error.code"), "conflict");
    json_decref(json);
    json = world_expect(world, 200, "POST", "/v1/workflows/1/promote",
                        json_pack("{s:s}", "who", "anna"));
    assert_string_equal(world_member(json, "phases.0"), "1/a");
    json_decref(json);
    world_await(world, "/v1/workflows/1", "phases.0.state", "succeeded");
    json = world_expect(world, 200, "GET", "/v1/workflows/1/phases/a/gate", NULL);
    assert_string_equal(world_member(json, "decided_by"), "user");
    json_decref(json);
}

/* The command comes to b when it has ended a, and b with it. */
static void a_cancellation_tells_what_was_skipped(void **state)
{
    struct world *world = *state;
    json_t *body = world_submission(two_phases, NULL);
    (void)json_object_set_new(body, "hold", json_true());
    json_decref(world_expect(world, 201, "POST", "/v1/workflows", body));
    json_t *json = world_expect(world, 200, "POST", "/v1/workflows/1/cancel", NULL);
    assert_string_equal(world_member(json, "phases"), "[\"1/a\",\"1/b\"]");
    assert_string_equal(world_member(json, "skipped"), "[\"1/b\"]");
    json_decref(json);
    json = world_expect(world, 200, "GET", "/v1/workflows/1", NULL);
    assert_string_equal(world_member(json, "phases.0.state"), "cancelled");
    assert_string_equal(world_member(json, "phases.1.state"), "skipped");
    json_decref(json);
}

static void entries_are_recorded_once_and_without_gaps(void **state)
{
    struct world *world = *state;
    static const char two[] = "{\"seq\":2,\"time\":1.0,\"type\":\"warning\",\"message\":\"hm\"}";
    static const char four[] = "{\"seq\":4,\"time\":1.0,\"type\":\"elephant\"}";
    submit(world, two_phases);
    world_await_lines(world, "jobs", 1);
    const char *run = "runs/1/a/1";
    assert_int_equal(world_push(world, run, "lead", (const char *const[]){NULL}), 0);
    assert_int_equal(world_push(world, run, "lead", (const char *const[]){two, NULL}), 0);
    assert_int_equal(
        world_push(world, run, "lead", (const char *const[]){old_start, two, four, NULL}), 2);
    assert_int_equal(world_push(world, run, "lead", (const char *const[]){old_start, two, NULL}),
                     2);
    world_kill(world);
    world_start(world, NULL);
    assert_int_equal(world_push(world, run, "lead", (const char *const[]){NULL}), 2);
    assert_int_equal(world_push(world, run, "../x", (const char *const[]){old_start, NULL}), -400);
}

/* If the record refused a row, the daemon would try it again forever. So no entry may lead to such
 * a row. */
static void strange_entries_are_accepted_and_do_no_harm(void **state)
{
    struct world *world = *state;
    static const char *const bodies[] = {
        "\"type\":\"metric\",\"step\":9223372036854775807,\"values\":{\"\":1,\"a\":\"nan\"}",
        "\"type\":\"metric\",\"step\":-1,\"values\":{\"a\":1}",
        "\"type\":\"metric\",\"step\":1e300,\"values\":{\"a\":1e308,\"b\":null,\"c\":[]}",
        "\"type\":\"metric\",\"step\":1,\"values\":7",
        "\"type\":\"metric\",\"step\":1,\"time\":-5,\"values\":{\"a\":\"-inf\"}",
        "\"type\":\"checkpoint\",\"path\":\"\",\"step\":0,\"bytes\":-7",
        "\"type\":\"checkpoint\",\"path\":\"/x\",\"step\":\"one\"",
        "\"type\":\"checkpoint\",\"path\":\"/x\",\"step\":5,\"bytes\":\"many\"",
        "\"type\":\"guard\",\"verdict\":{\"name\":\"\",\"outcome\":\"elephant\",\"value\":{}}",
        "\"type\":\"guard\",\"verdict\":{\"name\":\"g\",\"outcome\":\"failed\",\"window\":1}",
        "\"type\":\"guard\"",
        "\"type\":\"warning\",\"message\":\"\"",
        "\"type\":\"started\",\"job_id\":-1",
        "\"type\":\"stopping\",\"why\":7",
        "\"type\":\"exited\",\"ranks\":7",
        "\"type\":\"ended\",\"outcome\":\"lost\"",
        "\"type\":\"ended\",\"outcome\":\"failed\",\"cause\":null",
        "\"type\":7",
        "\"type\":\"gpus\",\"gpus\":[0],\"memory_mib\":[\"x\"],\"models\":[7],\"uuids\":[1e99]",
        "\"type\":\"sample\",\"from\":1790000000,\"seconds\":10,\"gpus\":[0],\"util\":[\"x\"],"
        "\"power_w\":[1e300],\"xid\":[{}]",
        "\"type\":\"pace\",\"step\":9000000000000000000,\"steps\":9000000000000000000,\"seconds\":"
        "9",
        "\"type\":\"pace\",\"step\":9000000000000000000,\"steps\":9000000000000000000,\"seconds\":"
        "9",
        "\"type\":\"pace\",\"step\":1,\"steps\":[1],\"seconds\":\"x\"",
        "\"type\":\"evidence\",\"processes\":[7],\"silent\":\"x\",\"summary\":{}",
        "\"type\":\"preflight\",\"level\":7,\"outcome\":\"passed\"",
        "\"type\":\"preflight\",\"level\":\"quick\",\"outcome\":\"passed\",\"reason\":[],"
        "\"seconds\":\"x\",\"rows\":[7,{\"name\":\"a\",\"outcome\":\"passed\",\"text\":7}]",
        /* Lists of nodes: an endless list, and a name that was cut within a letter. */
        "\"type\":\"started\",\"nodes\":[\"n[0-18446744073709551610]\"]",
        "\"type\":\"started\",\"nodes\":[\"n[0-18446744073709551610]"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\u00e9\"]",
    };
    submit(world, two_phases);
    world_await_lines(world, "jobs", 1);
    for (unsigned i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        char *entry = text_format("{\"seq\":%u,\"time\":1,%s}", i + 1, bodies[i]);
        const char *const entries[] = {entry, NULL};
        long committed = world_push(world, "runs/1/a/1", "lead", entries);
        if (committed != (long)i + 1)
            fail_msg("%ld is committed after %s", committed, entry);
        free(entry);
    }
    json_decref(world_expect(world, 200, "GET", "/v1/workflows/1", NULL));
    json_decref(world_expect(world, 200, "GET", "/v1/workflows/1/phases/a/runs/1", NULL));
    json_decref(world_expect(world, 200, "GET", "/v1/workflows/1/phases/a/runs/1/metrics", NULL));
    json_decref(world_expect(world, 200, "GET", "/v1/workflows/1/phases/a/runs/1/gpus", NULL));
    json_t *events = world_expect(world, 200, "GET", "/v1/events?workflow=1", NULL);
    char *text = json_dumps(events, 0);
    assert_non_null(strstr(text, "entry 21 of the journal of lead was not understood: a pace has"));
    free(text);
    json_decref(events);
    world_stop(world);
}

static void a_worker_without_the_secret_is_refused(void **state)
{
    struct world *world = *state;
    int status;
    submit(world, two_phases);
    world_await_lines(world, "jobs", 1);
    char *path = text_format("%s/runs/1/a/1/secret", world->home);
    char *old = world_read(world, "runs/1/a/1/secret");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 64; i++)
        fputc('0', file);
    fclose(file);
    json_t *json = world_worker(world, "runs/1/a/1", "GET", "command", NULL, &status);
    /* The refusal has no code, so the client does not believe it. */
    assert_true(status == 0 || status == 403);
    json_decref(json);
    assert_int_equal(strlen(old), 64);
    free(old);
    free(path);
}

static void a_cancelled_run_cancels_its_job(void **state)
{
    struct world *world = *state;
    submit(world, two_phases);
    world_await(world, "/v1/workflows/1", "phases.0.run.state", "pending");
    json_t *json = world_expect(world, 200, "POST", "/v1/workflows/1/cancel", NULL);
    assert_string_equal(world_member(json, "phases.1"), "1/b");
    const json_t *stopping = json_object_get(json, "stopping"); /* b has no run yet */
    assert_int_equal(json_array_size(stopping), 1);
    assert_string_equal(json_string_value(json_array_get(stopping, 0)), "1/a");
    json_decref(json);
    world_await_lines(world, "cancelled", 1);
    world_await(world, "/v1/workflows/1", "state", "cancelled");
    world_await(world, "/v1/workflows/1", "phases.1.state", "cancelled");
}

static void a_silent_run_is_read_from_its_folder(void **state)
{
    struct world *world = *state;
    submit(world, two_phases);
    world_await(world, "/v1/workflows/1", "phases.0.run.state", "pending");
    char *folder = text_format("%s/runs/1/a/1/journal", world->home);
    assert_int_equal(mkdir(folder, 0700), 0);
    char *journal = text_format("%s/n1.jsonl", folder);
    char *outcome = text_format("%s/runs/1/a/1/outcome.json", world->home);
    char *end = ended(1, "failed", "\"exit\"", 1);
    FILE *file = fopen(journal, "w");
    assert_non_null(file);
    fputs("{\"seq\":1,\"time\":1,\"type\":\"metric\",\"step\":7,\"values\":{\"loss\":1.5}}\n"
          "{\"seq\":2,\"ti",
          file);
    fclose(file);
    file = fopen(outcome, "w");
    assert_non_null(file);
    fputs(end, file);
    fclose(file);
    world_slurm_write(world, "state.101", "failed");
    world_await(world, "/v1/workflows/1/phases/a/runs/1", "outcome", "failed");
    world_await(world, "/v1/workflows/1/phases/a/runs/1", "cause", "exit");
    world_await(world, "/v1/workflows/1", "phases.0.state", "held");
    world_await(world, "/v1/workflows/1/phases/a/runs/1/metrics", "series.loss.0", "1.5");
    free(folder);
    free(journal);
    free(outcome);
    free(end);
}

static void news_end_a_long_poll(void **state)
{
    struct world *world = *state;
    submit(world, two_phases);
    world_await(world, "/v1/workflows/1", "phases.0.run.state", "pending");
    json_t *json = world_expect(world, 200, "GET", "/v1/events?after=0&workflow=1", NULL);
    char *path = text_format("/v1/events?after=%s&workflow=1", world_member(json, "last"));
    json_decref(json);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int status = 0;
        json_t *later = world_call(world, "GET", path, NULL, &status);
        _exit(status == 200 && json_array_size(json_object_get(later, "events")) > 0 ? 0 : 1);
    }
    json_decref(world_expect(world, 200, "POST", "/v1/workflows/1/cancel", NULL));
    int code = -1;
    assert_int_equal(waitpid(pid, &code, 0), pid);
    assert_true(WIFEXITED(code) && WEXITSTATUS(code) == 0);
    free(path);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(ping_answers_with_version_and_cluster),
        TEST(the_answer_says_what_is_wrong_with_a_request),
        TEST(a_body_that_is_too_large_is_refused),
        TEST(a_passed_gate_promotes_in_place),
        TEST(a_gate_tells_what_it_would_find_while_its_phase_is_active),
        TEST(a_gate_distinguishes_errors_from_missing_data),
        TEST(a_failed_gate_holds_until_a_person_promotes),
        TEST(a_cancellation_tells_what_was_skipped),
        TEST(entries_are_recorded_once_and_without_gaps),
        TEST(strange_entries_are_accepted_and_do_no_harm),
        TEST(a_worker_without_the_secret_is_refused),
        TEST(a_cancelled_run_cancels_its_job),
        TEST(a_silent_run_is_read_from_its_folder),
        TEST(news_end_a_long_poll),
    };
    return cmocka_run_group_tests_name("daemon", tests, NULL, NULL);
}
