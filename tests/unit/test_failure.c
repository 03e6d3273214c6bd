/* From the output of the ranks to the outcome: the newest lines, the kernel's counts of OOM kills,
 * and which node's finding counts. */
#include "tests/unit/folder.h"
#include "tests/unit/unit.h"

#include "lib/file.h"
#include "lib/protocol/outcome.h"
#include "lib/text.h"
#include "worker/health/failure.h"
#include "worker/health/memory_kills.h"
#include "worker/node/ranklog.h"
#include "worker/protocol/assignment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- The newest lines ------------------------------------------------------------------------- */

static void the_newest_lines_stay_whole(void **state)
{
    (void)state;
    struct text recent = {0};
    size_t size, total = 0;
    assert_int_equal((recent_lines(&recent, &size), size), 0);
    for (unsigned i = 0; total < 5 * (size_t)RECENT_SIZE_MAX; i++) {
        char *line = text_format("line %u %*s\n", i, (int)(i % 3000), "x");
        recent_add(&recent, line, strlen(line));
        total += strlen(line);
        const char *lines = recent_lines(&recent, &size);
        assert_true(size <= RECENT_SIZE_MAX && size >= strlen(line));
        assert_true(strncmp(lines, "line ", 5) == 0);
        assert_memory_equal(lines + size - strlen(line), line, strlen(line));
        assert_true(size + 3100 > (total < RECENT_SIZE_MAX ? total : RECENT_SIZE_MAX));
        free(line);
    }
    assert_true(recent.capacity <= 2 * RECENT_SIZE_MAX);
    text_fini(&recent);
    /* More at once than fits. */
    char *much = malloc(2 * RECENT_SIZE_MAX);
    assert_non_null(much);
    memset(much, 'a', 2 * RECENT_SIZE_MAX);
    memcpy(much + 2 * RECENT_SIZE_MAX - 5, "\nend\n", 5);
    recent_add(&recent, much, 2 * RECENT_SIZE_MAX);
    recent_add(&recent, "b\n", 2);
    const char *lines = recent_lines(&recent, &size);
    assert_int_equal(size, strlen("end\nb\n"));
    assert_memory_equal(lines, "end\nb\n", size);
    text_fini(&recent);
    free(much);
}

static void a_log_that_cannot_be_written_still_gives_its_newest_lines(void **state)
{
    (void)state;
    struct ranklog *ranklog = ranklog_open("/nonexistent", 0, 0);
    size_t size;
    ranklog_feed(ranklog, "one\ntwo", strlen("one\ntwo"));
    ranklog_note(ranklog, "was killed");
    const char *lines = ranklog_recent(ranklog, &size);
    struct text text = {0};
    text_add_bytes(&text, lines, size);
    assert_non_null(strstr(text_string(&text), "Z one\n"));
    assert_non_null(strstr(text_string(&text), "Z was killed\n"));
    assert_true(text_ends(text_string(&text), "Z two\n"));
    text_fini(&text);
    ranklog_close(ranklog);
}

/* --- The kernel's counts ---------------------------------------------------------------------- */

static void write_below(const char *path, const char *content)
{
    char *whole = text_format("%s/%s", folder, path), *slash = strrchr(whole, '/');
    *slash = '\0';
    assert_int_equal(file_make_folders(whole, 0700, NULL), 0);
    *slash = '/';
    assert_int_equal(file_replace(whole, content, strlen(content), 0600, NULL), 0);
    free(whole);
}

static void memory_kills_are_read_from_cgroup_v1_and_v2(void **state)
{
    static const struct {
        const char *groups, *path, *content;
        int64_t here;
    } rows[] = {
        {"0::/job_12/step_0\n", "sys/fs/cgroup/job_12/step_0/memory.events",
         "low 0\nhigh 0\nmax 9\noom 3\noom_kill 2\noom_group_kill 0\n", 2},
        {"12:cpuset:/\n9:cpu,memory:/slurm/job_1\n0::/\n",
         "sys/fs/cgroup/memory/slurm/job_1/memory.oom_control",
         "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n", 7},
        {"0::/\n", "sys/fs/cgroup/other/memory.events", "oom_kill 1\n", -1}, /* a container */
        {"", "x", "", -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct memory_kills kills;
        write_below("proc/self/cgroup", rows[i].groups);
        write_below("proc/vmstat", "nr_free_pages 1\noom_kill 41\n");
        write_below(rows[i].path, rows[i].content);
        memory_kills_read(folder, &kills);
        assert_int_equal(kills.here, rows[i].here);
        assert_int_equal(kills.node, 41);
        folder_remove(state);
        folder_make(state);
    }
    struct memory_kills none;
    memory_kills_read(folder, &none);
    assert_int_equal(none.here, -1);
    assert_int_equal(none.node, -1);
}

static void a_rank_was_killed_for_memory_when_its_own_count_says_so(void **state)
{
    (void)state;
    static const struct {
        struct memory_kills before, after;
        bool was_killed, tells;
    } rows[] = {
        {{0, 0}, {1, 1}, true, true},      {{0, 0}, {1, 1}, false, true}, /* a child of the rank */
        {{0, 0}, {0, 1}, true, false}, /* a process of another job */
        {{-1, 4}, {-1, 5}, true, true},    {{-1, 4}, {-1, 5}, false, false},
        {{-1, -1}, {-1, -1}, true, false}, {{3, 3}, {3, 3}, true, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(memory_kills_tell(&rows[i].before, &rows[i].after, rows[i].was_killed),
                         rows[i].tells);
}

/* --- The outcome ------------------------------------------------------------------------------ */

static json_t *parse(const char *text)
{
    json_error_t where;
    json_t *json = json_loads(text, 0, &where);
    if (!json)
        fail_msg("%s: %s", text, where.text);
    return json;
}

static struct assignment an_assignment(void)
{
    return (struct assignment){
        .file.failures =
            parse("["
                  "{\"name\": \"full\", \"title\": \"out of memory\", \"pattern\": \"OOM\","
                  " \"cause\": \"oom\", \"blame\": \"code\", \"tells\": \"cause\","
                  " \"advice\": \"less\"},"
                  "{\"name\": \"lost\", \"title\": \"the GPU is gone\", \"pattern\": \"LOST\","
                  " \"cause\": \"node_fail\", \"blame\": \"node\", \"tells\": \"cause\","
                  " \"advice\": \"wait\"},"
                  "{\"name\": \"sign\", \"title\": \"exception\", \"pattern\": \"Error\","
                  " \"cause\": \"exit\", \"blame\": \"code\", \"tells\": \"sign\","
                  " \"advice\": \"look\"},"
                  "{\"name\": \"echo\", \"title\": \"timed out\", \"pattern\": \"ECHO\","
                  " \"cause\": \"hang\", \"blame\": \"none\", \"tells\": \"consequence\","
                  " \"advice\": \"\"}]")};
}

static void the_strongest_finding_counts_and_then_the_earliest(void **state)
{
    (void)state;
    struct assignment assignment = an_assignment();
    static const struct {
        const char *one, *other;
        bool is_better;
    } rows[] = {
        {"{\"name\": \"echo\", \"time\": \"2\"}", NULL, true},
        {"{\"name\": \"sign\", \"time\": \"9\"}", "{\"name\": \"echo\", \"time\": \"2\"}", true},
        {"{\"name\": \"echo\", \"time\": \"1\"}", "{\"name\": \"sign\", \"time\": \"2\"}", false},
        {"{\"name\": \"full\", \"time\": \"9\"}", "{\"name\": \"sign\", \"time\": \"2\"}", true},
        {"{\"name\": \"full\", \"time\": \"1\"}", "{\"name\": \"lost\", \"time\": \"2\"}", true},
        {"{\"name\": \"full\", \"time\": \"3\"}", "{\"name\": \"lost\", \"time\": \"2\"}", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *one = parse(rows[i].one), *other = rows[i].other ? parse(rows[i].other) : NULL;
        assert_int_equal(failure_is_better(&assignment, one, other), rows[i].is_better);
        json_decref(one);
        json_decref(other);
    }
    assert_false(failure_is_better(&assignment, NULL, NULL));
    json_decref(assignment.file.failures);
}

static void a_finding_decides_the_outcome(void **state)
{
    (void)state;
    static const struct {
        const char *failure, *node;
        enum run_cause cause;
        const char *message, *blamed, *json;
    } rows[] = {
        {"{\"name\": \"full\", \"line\": \"OOM!\", \"rank\": 3}", "n2", CAUSE_OOM,
         "out of memory on rank 3 (n2): OOM!", "",
         "{\"name\": \"full\", \"line\": \"OOM!\", \"rank\": 3, \"node\": \"n2\","
         " \"advice\": \"less\", \"blame\": \"code\"}"},
        {"{\"name\": \"lost\", \"line\": \"LOST\", \"rank\": null}", "n2", CAUSE_NODE_FAIL,
         "the GPU is gone on n2: LOST", "n2",
         "{\"name\": \"lost\", \"line\": \"LOST\", \"rank\": null, \"node\": \"n2\","
         " \"advice\": \"wait\", \"blame\": \"node\"}"},
        {"{\"name\": \"full\", \"line\": \"\\t  if n: OOM!\", \"rank\": 3}", "n2", CAUSE_OOM,
         "out of memory on rank 3 (n2): if n: OOM!", "",
         "{\"name\": \"full\", \"line\": \"\\t  if n: OOM!\", \"rank\": 3, \"node\": \"n2\","
         " \"advice\": \"less\", \"blame\": \"code\"}"},
        {"{\"name\": \"full\", \"line\": \"/a/1/run.sh: line 1: OOM!\", \"rank\": 3}", "n2",
         CAUSE_OOM, "out of memory on rank 3 (n2): run.sh: line 1: OOM!", "",
         "{\"name\": \"full\", \"line\": \"/a/1/run.sh: line 1: OOM!\", \"rank\": 3,"
         " \"node\": \"n2\", \"advice\": \"less\", \"blame\": \"code\"}"},
        {"{\"name\": \"echo\", \"line\": \"ECHO\", \"rank\": null}", "", CAUSE_HANG,
         "timed out: ECHO", "",
         "{\"name\": \"echo\", \"line\": \"ECHO\", \"rank\": null, \"node\": null,"
         " \"advice\": \"\", \"blame\": \"none\"}"},
    };
    struct assignment assignment = an_assignment();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct outcome outcome, again;
        outcome_init(&outcome, 7);
        outcome.kind = OUTCOME_FAILED;
        outcome.cause = CAUSE_EXIT;
        json_t *failure = parse(rows[i].failure), *expected = parse(rows[i].json);
        failure_apply(&assignment, failure, rows[i].node, &outcome);
        assert_int_equal(outcome.cause, rows[i].cause);
        assert_string_equal(outcome.message, rows[i].message);
        assert_string_equal(outcome.node, rows[i].blamed);
        json_t *json = outcome_to_json(&outcome);
        assert_true(json_equal(json_object_get(json, "failure"), expected));
        assert_int_equal(outcome_from_json(json, &again, NULL), 0);
        assert_true(json_equal(again.failure, expected));
        assert_int_equal(again.cause, rows[i].cause);
        json_decref(json);
        json_decref(failure);
        json_decref(expected);
        outcome_fini(&outcome);
        outcome_fini(&again);
    }
    json_decref(assignment.file.failures);
}

static void a_gpu_fault_counts_until_the_ranks_go_on(void **state)
{
    (void)state;
    struct assignment assignment = an_assignment();
    struct gpu_fault fault = {0};
    json_t *full = parse("{\"name\": \"full\", \"time\": \"2026\"}");
    assert_ptr_equal(gpu_fault_or(&fault, &assignment, full), full);
    gpu_fault_hear(&fault, &assignment, "an Error", 1000); /* a sign, and no cause */
    assert_null(gpu_fault_or(&fault, &assignment, NULL));
    gpu_fault_hear(&fault, &assignment, "GPU 3: LOST", 1000);
    gpu_fault_hear(&fault, &assignment, "GPU 4: LOST", 2000);
    assert_string_equal(json_string_value(json_object_get(fault.failure, "line")), "GPU 3: LOST");
    /* The program's own line counts, however early it is. */
    assert_ptr_equal(gpu_fault_or(&fault, &assignment, full), fault.failure);
    /* Silence does not show that a rank goes on, and neither does output within a minute or in few
     * seconds. */
    uint64_t printed = 1;
    for (int64_t now_ms = 1000; now_ms < 61000; now_ms += 200)
        gpu_fault_look(&fault, printed++, now_ms);
    for (int64_t now_ms = 61000; now_ms < 200000; now_ms += 200)
        gpu_fault_look(&fault, printed, now_ms);
    for (int i = 0; i < 9; i++)
        gpu_fault_look(&fault, ++printed, 200000 + i * 1000);
    gpu_fault_look(&fault, ++printed, 208900);
    assert_non_null(fault.failure);
    gpu_fault_hear(&fault, &assignment, "GPU 3: LOST", 208950); /* the same again counts anew */
    gpu_fault_look(&fault, ++printed, 209000);
    assert_non_null(fault.failure);
    for (int i = 0; i < 10; i++)
        gpu_fault_look(&fault, ++printed, 269000 + i * 1000);
    assert_ptr_equal(gpu_fault_or(&fault, &assignment, full), full);
    gpu_fault_fini(&fault);
    json_decref(full);
    json_decref(assignment.file.failures);
}

static void a_complaint_counts_only_if_it_is_a_cause(void **state)
{
    (void)state;
    struct assignment assignment = an_assignment();
    json_t *failure = failure_look_at(&assignment, "n1: task 0: OOM");
    assert_string_equal(json_string_value(json_object_get(failure, "name")), "full");
    assert_true(failure_is_cause(&assignment, failure));
    json_decref(failure);
    assert_null(failure_look_at(&assignment, "n1: task 0: Error"));
    assert_false(failure_is_cause(&assignment, NULL));
    json_decref(assignment.file.failures);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_lines_stay_whole),
        cmocka_unit_test(a_log_that_cannot_be_written_still_gives_its_newest_lines),
        cmocka_unit_test_setup_teardown(memory_kills_are_read_from_cgroup_v1_and_v2, folder_make,
                                        folder_remove),
        cmocka_unit_test(a_rank_was_killed_for_memory_when_its_own_count_says_so),
        cmocka_unit_test(the_strongest_finding_counts_and_then_the_earliest),
        cmocka_unit_test(a_finding_decides_the_outcome),
        cmocka_unit_test(a_gpu_fault_counts_until_the_ranks_go_on),
        cmocka_unit_test(a_complaint_counts_only_if_it_is_a_cause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
