/* What phasectl plan prints of the daemon's answer. */
#include "tests/unit/folder.h"
#include "tests/unit/http_server.h"
#include "tests/unit/unit.h"

#include "cli/cli.h"
#include "cli/verbs.h"
#include "lib/file.h"
#include "lib/http.h"
#include "lib/text.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* `context` is the list of phases. */
static char *answer(void *context, const char *method, const char *path, const char *body,
                    int *ret_status)
{
    (void)method, (void)path, (void)body, (void)ret_status;
    return text_format("{\"fits\": true, \"phases\": %s, \"seconds\": 7200, \"gpu_seconds\": 14400,"
                       " \"cost_usd\": 4}",
                       (const char *)context);
}

/* Prints the plan into a file. Returns its text, which the caller frees. */
static char *plan(char *phases)
{
    struct cli cli = {.verb = &(const struct verb){.name = "plan"}, .out = {.fd = -1}};
    char *file = text_format("%s/w.yaml", folder), *out = text_format("%s/out", folder), *text;
    char *words[] = {file, NULL};
    folder_put("name: w\nphases: {a: {resources: {time: 1h}, run: x}}\n", "w.yaml");
    assert_int_equal(home_init(&cli.home, folder, NULL), 0);
    struct http_server *server = http_server_start(&(struct http_server_options){
        .socket_path = cli.home.socket, .answer = answer, .context = phases});
    int before = dup(STDOUT_FILENO), fd = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(before >= 0 && fd >= 0);
    assert_int_equal(fflush(stdout), 0);
    assert_int_equal(dup2(fd, STDOUT_FILENO), STDOUT_FILENO);
    int exit_code = plan_verb(&cli, words);
    assert_int_equal(fflush(stdout), 0);
    assert_int_equal(dup2(before, STDOUT_FILENO), STDOUT_FILENO);
    assert_int_equal(close(fd), 0);
    assert_int_equal(close(before), 0);
    assert_int_equal(exit_code, CLI_OK);
    assert_int_equal(file_read(out, 10000, &text, NULL, NULL), 0);
    http_client_free(cli.client);
    http_server_end(server);
    home_fini(&cli.home);
    free(file);
    free(out);
    return text;
}

#define PHASE(has_checkpoint, similar)                                                             \
    "{\"phase\": \"a\", \"seconds\": 3600, \"cost_usd\": 2, \"has_checkpoint\": " has_checkpoint   \
    ", \"similar\": " similar "}"

static void assert_plan(const char *phases, const char *time, const char *cost, const char *sum)
{
    char *copy = text_format("[%s]", phases), *text = plan(copy);
    char *row = text_format("%s  %s\n", time, cost), *end = text_format("\n%s\n", sum);
    if (!strstr(text, row) || !strstr(text, end))
        fail_msg("%s has no %sor no %s", text, row, end);
    free(copy);
    free(text);
    free(row);
    free(end);
}

/* A phase with a checkpoint goes on in further jobs, with fresh limits. */
static void a_guess_about_a_phase_with_a_checkpoint_is_no_bound(void **state)
{
    (void)state;
    assert_plan(PHASE("false", "0"), "<= 1h00m", "<= $2.00",
                "at most 2h00m, without the queue, 4h00m of GPU time, $4.00; <= means `time`, "
                "because no similar phase has succeeded yet");
    assert_plan(PHASE("true", "0"), "1h00m a job", "$2.00 a job",
                "the sum is unknown: phases with a checkpoint may need several jobs");
    assert_plan(PHASE("false", "0") "," PHASE("true", "0"), "1h00m a job", "$2.00 a job",
                "the sum is unknown: phases with a checkpoint may need several jobs; <= means "
                "`time`, because no similar phase has succeeded yet");
    assert_plan(PHASE("false", "0") "," PHASE("false", "3"), "<= 1h00m", "<= $2.00",
                "about 2h00m, without the queue, 4h00m of GPU time, $4.00; <= means `time`, "
                "because no similar phase has succeeded yet");
    assert_plan(PHASE("true", "3"), "~1h00m", "~$2.00",
                "about 2h00m, without the queue, 4h00m of GPU time, $4.00, like similar phases");
}

static void a_member_may_run_at_each_rung(void **state)
{
    (void)state;
    assert_plan(
        "{\"phase\": \"a\", \"seconds\": 3600, \"cost_usd\": 2, \"similar\": 0, \"rungs\": 3}",
        "<= 1h00m a rung", "<= $2.00 a rung",
        "at most 2h00m, without the queue, 4h00m of GPU time, $4.00; <= means `time`, "
        "because no similar phase has succeeded yet");
    assert_plan(
        "{\"phase\": \"a\", \"seconds\": 3600, \"cost_usd\": 2, \"similar\": 1, \"rungs\": 3}",
        "~1h00m", "~$2.00",
        "about 2h00m, without the queue, 4h00m of GPU time, $4.00, like similar phases");
}

/* A phase with a message of Slurm, without a start. */
#define TOLD(name, is_refused, message, more)                                                      \
    "{\"phase\": \"" name "\", \"refused\": " is_refused ", \"start_message\": \"" message         \
    "\"" more "}"
#define REFUSED_A100                                                                               \
    ", \"alternatives\": [{\"gpu_type\": \"a100\", \"refused\": true, "                            \
    "\"start_message\": \"no\"}, {\"gpu_type\": \"h100\", \"start\": 1}]"

static void phases_share_a_line_if_it_says_the_same_of_them(void **state)
{
    (void)state;
    static const struct {
        const char *phases, *lines;
    } rows[] = {
        {TOLD("big", "true", "busy", "") "," TOLD("two", "false", "busy", "") "," TOLD(
             "three", "false", "busy", "") "," TOLD("four", "true", "busy", ""),
         "\nerror: Slurm refuses big, four: busy\nno start is known: two, three: busy\n"},
        {TOLD("a", "false", "", ", \"dangers\": [\"busy\"]") "," TOLD("b", "false", "busy", ""),
         "\nwarning: a: busy\nno start is known: b: busy\n"},
        {TOLD("a", "false", "", REFUSED_A100) "," TOLD("b", "false", "", REFUSED_A100),
         "\nwarning: a, b: Slurm refuses a100: no\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *phases = text_format("[%s]", rows[i].phases), *text = plan(phases);
        const char *lines = strstr(text, rows[i].lines);
        if (!lines || !text_equal(lines, rows[i].lines))
            fail_msg("%s does not end with %s", text, rows[i].lines);
        free(phases);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_guess_about_a_phase_with_a_checkpoint_is_no_bound,
                                        folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(a_member_may_run_at_each_rung, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(phases_share_a_line_if_it_says_the_same_of_them,
                                        folder_make, folder_remove),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
