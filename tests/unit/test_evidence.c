/* What `why` shows beside the members of a run: evidence, and the last lines of a log. */
#include "tests/unit/unit.h"

#include "cli/evidence.h"
#include "cli/terminal.h"
#include "lib/text.h"
#include "tests/unit/folder.h"

#include <stdlib.h>

#include <jansson.h>

static void long_lines_end_with_a_word(void **state)
{
    (void)state;
    static const struct terminal narrow = {.fd = -1, .columns = 30};
    struct text text = {0};
    json_t *evidence = json_pack("[{s:s, s:s}]", "node", "n1", "summary",
                                 "rank 3 waits for the others in an all-reduce of gradients");
    evidence_write(&narrow, evidence, &text);
    assert_string_equal(text_string(&text), "  n1: rank 3 waits for the\n"
                                            "    others in an all-reduce of\n"
                                            "    gradients\n");
    json_decref(evidence);
    text_fini(&text);
}

static void assert_folded(const char *before, const char *string, const char *expected)
{
    static const struct terminal narrow = {.fd = -1, .columns = 20};
    struct text text = {0}, line = {0};
    text_add(&line, string);
    terminal_add_folded(&narrow, &text, before, &line);
    assert_string_equal(text_string(&text), expected);
    text_fini(&text);
}

static void a_word_is_broken_only_if_no_line_has_room(void **state)
{
    (void)state;
    assert_folded("  node-17: ", "/home/anna/log", "  node-17: \n    /home/anna/log\n");
    assert_folded("  node-17: ", "a /home/anna/log", "  node-17: a\n    /home/anna/log\n");
    assert_folded("  ", "/home/anna/rank-0.log is", "  /home/anna/rank-0.\n    log is\n");
    assert_folded("  node-17: ", "/home/anna/rank-0.log",
                  "  node-17: \n    /home/anna/rank-\n    0.log\n");
}

static void assert_tail(const char *data, const char *expected)
{
    struct text text = {0};
    folder_put(data, "rank-0.log");
    char *path = text_format("%s/rank-0.log", folder);
    json_t *run = json_object();
    json_t *logs = json_pack("{s:[{s:i, s:s}]}", "logs", "rank", 0, "path", path);
    char *whole = expected[0]
                      ? text_format("  the last lines of rank 0, in %s:\n%s", path, expected)
                      : text_format("%s", "");
    tail_write(run, logs, &text);
    assert_string_equal(text_string(&text), whole);
    text_fini(&text);
    json_decref(logs);
    json_decref(run);
    free(whole);
    free(path);
}

static void a_log_without_text_is_left_out(void **state)
{
    (void)state;
    assert_tail("", "");
    assert_tail("2026-11-01T12:00:00.123Z \n\n  \n", "");
    assert_tail("\n2026-11-01T12:00:00.123Z one\ntwo",
                "    2026-11-01T12:00:00.123Z one\n    two\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_lines_end_with_a_word),
        cmocka_unit_test(a_word_is_broken_only_if_no_line_has_room),
        cmocka_unit_test_setup_teardown(a_log_without_text_is_left_out, folder_make, folder_remove),
    };
    return cmocka_run_group_tests_name("evidence", tests, NULL, NULL);
}
