/* phasectl diff: what differs between two documents, and between two texts; and how two workflows
 * are shown. */
#include "tests/unit/folder.h"
#include "tests/unit/http_server.h"
#include "tests/unit/unit.h"

#include "cli/cli.h"
#include "cli/compare/difference.h"
#include "cli/verbs.h"
#include "lib/file.h"
#include "lib/http.h"
#include "lib/text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void assert_differences(const char *left, const char *right, const char *expected)
{
    json_t *a = json_loads(left, 0, NULL), *b = json_loads(right, 0, NULL), *list = json_array();
    difference_find("", a, b, list);
    char *text = json_dumps(list, JSON_COMPACT);
    assert_string_equal(text, expected);
    free(text);
    json_decref(list);
    json_decref(a);
    json_decref(b);
}

static void members_are_compared_one_by_one(void **state)
{
    (void)state;
    assert_differences("{}", "{}", "[]");
    assert_differences("{\"a\": 1, \"b\": {\"c\": [1, 2]}}", "{\"b\": {\"c\": [1, 2]}, \"a\": 1.0}",
                       "[]");
    assert_differences("{\"a\": 1, \"b\": {\"c\": [1, 2], \"d\": null}}",
                       "{\"a\": \"1\", \"b\": {\"c\": [1, 3], \"d\": null}}",
                       "[{\"path\":\"a\",\"left\":1,\"right\":\"1\"},"
                       "{\"path\":\"b.c\",\"left\":[1,2],\"right\":[1,3]}]");
}

static void what_one_side_lacks_is_told_as_a_whole(void **state)
{
    (void)state;
    assert_differences("{\"a\": {\"b\": 1}, \"c\": null}",
                       "{\"d\": {\"e\": {\"f\": 2}}, \"c\": null}",
                       "[{\"path\":\"a\",\"left\":{\"b\":1}},"
                       "{\"path\":\"d\",\"right\":{\"e\":{\"f\":2}}}]");
    assert_differences("{\"a\": {\"b\": 1}}", "{\"a\": null}",
                       "[{\"path\":\"a\",\"left\":{\"b\":1},\"right\":null}]");
}

static void assert_lines(const char *left, const char *right, const char *expected)
{
    struct text text = {0};
    difference_lines(left, right, 2, &text);
    assert_string_equal(text_string(&text), expected);
    text_fini(&text);
}

static void lines_keep_the_order_of_the_texts(void **state)
{
    (void)state;
    assert_lines("", "", "");
    assert_lines("a\nb\n", "a\nb", "");
    assert_lines("", "a\n\nb", "  + a\n  + \n  + b\n");
    assert_lines("a\nb\nc\nd\ne\n", "a\nc\nx\nd\ny\ne\n", "  - b\n  + x\n  + y\n");
    assert_lines("a\nb\n", "b\na\n", "  - a\n  + a\n");
    assert_lines("a\nab\n", "a\nabc\n", "  - ab\n  + abc\n");
}

/* 5,000 lines on each side, all different: the table would have more cells than it may. */
static void long_texts_are_replaced_as_a_whole(void **state)
{
    (void)state;
    struct text left = {0}, right = {0}, expected = {0};
    for (unsigned i = 0; i < 5000; i++) {
        text_addf(&left, "a%u\n", i);
        text_addf(&right, "b%u\n", i);
    }
    text_add(&left, "end\n");
    text_add(&right, "end\n");
    for (unsigned i = 0; i < 5000; i++)
        text_addf(&expected, "  - a%u\n", i);
    for (unsigned i = 0; i < 5000; i++)
        text_addf(&expected, "  + b%u\n", i);
    assert_lines(text_string(&left), text_string(&right), text_string(&expected));
    text_fini(&left);
    text_fini(&right);
    text_fini(&expected);
}

static void values_are_short(void **state)
{
    (void)state;
    static const struct {
        const char *json, *text;
        bool is_long;
    } rows[] = {
        {"null", "-", false},
        {"0.001", "0.001", false},
        {"16", "16", false},
        {"true", "true", false},
        {"\"adam\"", "adam", false},
        {"\"one line\\n\"", "one line", false},
        {"\"one\\ntwo\"", "2 lines", true},
        {"\"one\\ntwo\\n\\n\"", "3 lines", true},
        {"[\"prepare\"]", "[\"prepare\"]", false},
        {"{\"a\":\"12345678901234567890123456789012345678901234567890123456789\"}", "{...}", false},
        {"[\"12345678901234567890123456789012345678901234567890123456789\"]", "[...]", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *value = json_loads(rows[i].json, JSON_DECODE_ANY, NULL);
        struct text text = {0};
        difference_value(value, &text);
        assert_string_equal(text_string(&text), rows[i].text);
        assert_int_equal(difference_is_long(value), rows[i].is_long);
        text_fini(&text);
        json_decref(value);
    }
}

#define SPEC(changes)                                                                              \
    "name: a\\nphases: {a: {resources: {cpus: 1, time: 5m}, run: echo,"                            \
    " params: {changes: \\\"" changes "\\\"}}}"

/* A daemon with four workflows. Their metrics and a phase have the names of figures. */
static char *answer_workflows(void *context, const char *method, const char *path, const char *body,
                              int *ret_status)
{
    static const char *const answers[][2] = {
        {"/v1/workflows/1/source", "{\"spec\": \"one\"}"},
        {"/v1/workflows/2/source", "{\"spec\": \"one\"}"},
        {"/v1/ping", "{}"},
        {"/v1/workflows/1",
         "{\"state\": \"failed\", \"attempts\": 5, \"gpu_seconds\": 120, \"phases\": ["
         "{\"phase\": \"total\", \"state\": \"failed\", \"attempts\": 2, \"gpu_seconds\": 60,"
         " \"metrics\": {\"runs\": 7.5, \"seconds\": 90, \"state\": \"nan\"}},"
         "{\"phase\": \"train\", \"state\": \"succeeded\", \"attempts\": 3, \"gpu_seconds\": "
         "60}]}"},
        {"/v1/workflows/2",
         "{\"state\": \"succeeded\", \"attempts\": 1, \"gpu_seconds\": 60, \"phases\": ["
         "{\"phase\": \"total\", \"state\": \"succeeded\", \"attempts\": 1, \"gpu_seconds\": 60,"
         " \"step\": 10, \"metrics\": {\"runs\": 15, \"loss\": 2.5}}]}"},
        {"/v1/workflows/3/source", "{\"spec\": \"" SPEC("one\\\\ntwo") "\"}"},
        {"/v1/workflows/4/source", "{\"spec\": \"" SPEC("one\\\\nthree") "\"}"},
        {"/v1/workflows/3/phases/a", "{\"state\": \"held\"}"},
        {"/v1/workflows/4/phases/a", "{\"state\": \"held\"}"},
        {"/v1/workflows/1/phases/a/runs/1",
         "{\"state\": \"ended\", \"outcome\": \"succeeded\", \"started\": 100, \"ended\": 110}"},
        {"/v1/workflows/1/phases/a/runs/1/metrics?last=0",
         "{\"steps\": [1, 2], \"times\": [1, 2], \"series\": {\"seconds\": [3, 4], \"step\": [5, "
         "null]}}"},
    };
    (void)context;
    (void)method;
    (void)body;
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
        if (text_equal(path, answers[i][0]))
            return text_format("%s", answers[i][1]);
    *ret_status = 404;
    return text_format("{\"error\": {\"code\": \"not_found\", \"message\": \"no %s\"}}", path);
}

/* Returns what `phasectl diff` prints. The caller frees it. */
static char *diff(const char *left, const char *right, bool as_json)
{
    char *words[] = {(char *)left, (char *)right, as_json ? (char *)"--json" : NULL, NULL};
    struct verb verb = {.name = "diff", .function = diff_verb, .synopsis = "", .help = ""};
    struct cli cli = {.verb = &verb};
    char *said, *path = text_format("%s/said", folder);
    assert_int_equal(home_init(&cli.home, folder, NULL), 0);
    const struct http_server_options options = {.socket_path = cli.home.socket,
                                                .answer = answer_workflows};
    struct http_server *server = http_server_start(&options);
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), out = dup(STDOUT_FILENO);
    assert_true(file >= 0 && out >= 0);
    assert_int_equal(fflush(stdout), 0);
    assert_int_equal(dup2(file, STDOUT_FILENO), STDOUT_FILENO);
    int exit_code = diff_verb(&cli, words);
    assert_int_equal(fflush(stdout), 0);
    assert_int_equal(dup2(out, STDOUT_FILENO), STDOUT_FILENO);
    assert_int_equal(exit_code, CLI_OK);
    assert_int_equal(file_read(path, 10000, &said, NULL, NULL), 0);
    close(file);
    close(out);
    http_client_free(cli.client);
    http_server_end(server);
    home_fini(&cli.home);
    free(path);
    return said;
}

static void assert_json(const char *left, const char *right, const char *name, const char *expected)
{
    char *said = diff(left, right, true);
    json_t *json = json_loads(said, 0, NULL);
    char *text = json_dumps(json_object_get(json, name), JSON_COMPACT);
    assert_string_equal(text, expected);
    free(text);
    free(said);
    json_decref(json);
}

static void phases_and_metrics_may_have_the_names_of_figures(void **state)
{
    (void)state;
    char *said = diff("1", "2", false);
    assert_string_equal(said, "the same was submitted\n"
                              "\n"
                              "PHASE                    1          2    CHANGE\n"
                              "total  state        failed  succeeded\n"
                              "       runs              2          1   -50.0 %\n"
                              "       step              -         10\n"
                              "       runs            7.5         15  +100.0 %\n"
                              "       seconds          90          -\n"
                              "       state           nan          -\n"
                              "       loss              -        2.5\n"
                              "       GPU time      1m00s      1m00s\n"
                              "train  state     succeeded          -\n"
                              "       runs              3          -\n"
                              "       GPU time      1m00s          -\n"
                              "total  state        failed  succeeded\n"
                              "       runs              5          1   -80.0 %\n"
                              "       GPU time      2m00s      1m00s   -50.0 %\n");
    free(said);
    assert_json("1", "2", "total",
                "{\"left\":{\"state\":\"failed\",\"runs\":5,\"gpu_seconds\":120},"
                "\"right\":{\"state\":\"succeeded\",\"runs\":1,\"gpu_seconds\":60}}");
    assert_json("1", "2", "figures",
                "{\"left\":{\"total\":{\"state\":\"failed\",\"runs\":2,\"metrics\":{\"runs\":7.5,"
                "\"seconds\":90,\"state\":\"nan\"},\"gpu_seconds\":60},"
                "\"train\":{\"state\":\"succeeded\",\"runs\":3,\"gpu_seconds\":60}},"
                "\"right\":{\"total\":{\"state\":\"succeeded\",\"runs\":1,\"step\":10,"
                "\"metrics\":{\"runs\":15,\"loss\":2.5},\"gpu_seconds\":60}}}");
    static const char run[] = "{\"run\":{\"state\":\"ended\",\"outcome\":\"succeeded\","
                              "\"metrics\":{\"seconds\":4,\"step\":5},\"seconds\":10.0}}";
    char *runs = text_format("{\"left\":%s,\"right\":%s}", run, run);
    assert_json("1/a#1", "1/a#1", "figures", runs);
    free(runs);
}

static void a_param_may_be_called_changes(void **state)
{
    (void)state;
    char *said = diff("3/a", "4/a", false);
    assert_non_null(strstr(said, "\nchanges:\n  - two\n  + three\n"));
    free(said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_compared_one_by_one),
        cmocka_unit_test(what_one_side_lacks_is_told_as_a_whole),
        cmocka_unit_test(lines_keep_the_order_of_the_texts),
        cmocka_unit_test(long_texts_are_replaced_as_a_whole),
        cmocka_unit_test(values_are_short),
        cmocka_unit_test_setup_teardown(phases_and_metrics_may_have_the_names_of_figures,
                                        folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(a_param_may_be_called_changes, folder_make, folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
