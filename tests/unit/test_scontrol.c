/* Asking scontrol, and reading an answer of any length. */
#include "tests/unit/folder.h"
#include "tests/unit/unit.h"

#include "lib/file.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "worker/lead/scontrol.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct answer {
    int code;
    char *output; /* NULL: no answer came */
};

static void take(void *context, int code, const char *output)
{
    struct answer *answer = context;
    *answer = (struct answer){code, text_format("%s", output)};
}

/* Returns the answer of a scontrol that is this shell script. Its output is the caller's to
 * free(). */
static struct answer ask(const char *script)
{
    static const struct scontrol_call call = {
        .arguments = {"show", "config"}, .captured_fd = STDOUT_FILENO, .timeout_ms = 120000};
    char *path = text_format("%s/scontrol", folder), *text = text_format("#!/bin/sh\n%s\n", script);
    char *before = xstrdup(getenv("PATH")), *paths = text_format("%s:%s", folder, before);
    struct answer answer = {0};
    uv_loop_t loop;
    assert_int_equal(file_replace(path, text, strlen(text), 0700, NULL), 0);
    assert_int_equal(setenv("PATH", paths, 1), 0);
    assert_int_equal(uv_loop_init(&loop), 0);
    scontrol_start(&loop, &call, take, &answer);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
    assert_int_equal(setenv("PATH", before, 1), 0);
    assert_non_null(answer.output);
    free(paths);
    free(before);
    free(text);
    free(path);
    return answer;
}

/* A partition of thousands of nodes whose names have no order, with something behind them. */
static void a_long_answer_is_read_to_its_end(void **state)
{
    static const unsigned lengths[] = {1, 16383, 16384, 100000, 500000};
    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        char *script = text_format("printf Nodes=; head -c %u /dev/zero | tr '\\0' n;"
                                   " printf ' PreemptMode=REQUEUE'",
                                   lengths[i]);
        struct answer answer = ask(script);
        assert_int_equal(answer.code, 0);
        assert_int_equal(strlen(answer.output), lengths[i] + strlen("Nodes= PreemptMode=REQUEUE"));
        assert_non_null(strstr(answer.output, "n PreemptMode=REQUEUE"));
        free(answer.output);
        free(script);
    }
}

/* The rest is read and dropped. */
static void an_endless_answer_takes_about_a_mebibyte(void **state)
{
    (void)state;
    struct answer answer = ask("head -c 9000000 /dev/zero | tr '\\0' n; exit 3");
    assert_int_equal(answer.code, 3);
    assert_in_range(strlen(answer.output), 1 << 20, 2 << 20);
    free(answer.output);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        TEST(a_long_answer_is_read_to_its_end),
        TEST(an_endless_answer_takes_about_a_mebibyte),
    };
    return cmocka_run_group_tests_name("scontrol", tests, NULL, NULL);
}
