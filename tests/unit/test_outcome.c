/* What outcome.json keeps, and whose outcome.json stays if two leads write it. */
#include "tests/unit/folder.h"
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/protocol/outcome.h"
#include "lib/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool has_links;

/* Replaces the function of libc that lib/file.c calls. */
int link(const char *from, const char *to)
{
    errno = EPERM;
    return has_links ? (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0) : -1;
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    (void)from_dir, (void)from, (void)to_dir, (void)to, (void)flags;
    errno = EINVAL;
    return -1;
}

static int with_links(void **state)
{
    has_links = true;
    return folder_make(state);
}

static int without_links(void **state)
{
    has_links = false;
    return folder_make(state);
}

static int write_as(const char *token, unsigned restarts)
{
    struct outcome outcome;
    outcome_init(&outcome, 12);
    outcome.restarts = restarts;
    (void)snprintf(outcome.token, sizeof outcome.token, "%s", token);
    int result = outcome_write(&outcome, folder, NULL);
    outcome_fini(&outcome);
    return result;
}

static void put(const char *text)
{
    char *path = text_format("%s/outcome.json", folder);
    assert_int_equal(file_replace(path, text, strlen(text), 0600, NULL), 0);
    free(path);
}

static void holds(const char *token, unsigned restarts)
{
    struct outcome outcome;
    assert_int_equal(outcome_read(folder, NULL, &outcome, NULL), 0);
    assert_string_equal(outcome.token, token);
    assert_int_equal(outcome.restarts, restarts);
    outcome_fini(&outcome);
}

static void the_first_lead_of_a_job_that_writes_an_outcome_wins(void **state)
{
    (void)state;
    assert_int_equal(write_as("aaaa", 1), 0);
    assert_int_equal(write_as("aaaa", 0), -EEXIST);
    assert_int_equal(write_as("", 2), -EEXIST); /* nobody can tell whose it is */
    holds("aaaa", 1);
    assert_int_equal(write_as("aaaa", 1), 0); /* an earlier attempt whose answer was lost */
    holds("aaaa", 1);
}

static void an_outcome_of_another_job_or_an_unreadable_one_is_replaced(void **state)
{
    static const char *const texts[] = {"", "{}", "{\"run\": 12, \"outco"};
    (void)state;
    assert_int_equal(write_as("bbbb", 0), 0);
    assert_int_equal(write_as("aaaa", 1), 0);
    holds("aaaa", 1);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put(texts[i]);
        assert_int_equal(write_as("aaaa", 1), 0);
        holds("aaaa", 1);
    }
}

static void an_outcome_that_is_too_large_exists_and_is_replaced(void **state)
{
    enum { SIZE = 1100000 };
    char *text = xcalloc(SIZE + 1, 1);
    (void)state;
    memset(text, ' ', SIZE);
    put(text);
    free(text);
    assert_true(outcome_is_there(folder, "aaaa"));
    assert_int_equal(write_as("aaaa", 1), 0);
    holds("aaaa", 1);
}

/* A file server in trouble answers like this. The file may be an outcome. */
static void an_outcome_that_cannot_be_checked_stays(void **state)
{
    char *path = text_format("%s/outcome.json", folder);
    (void)state;
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(write_as("aaaa", 1), -EISDIR);
    assert_int_equal(rmdir(path), 0);
    free(path);
}

static void an_outcome_is_read_as_it_was_written(void **state)
{
    struct outcome outcome, read;
    struct error err;
    (void)state;
    assert_int_equal(outcome_read(folder, NULL, &read, &err), -ENOENT);
    assert_false(outcome_is_there(folder, NULL));
    outcome_init(&outcome, 12);
    outcome.kind = OUTCOME_FAILED;
    outcome.cause = CAUSE_GUARD;
    outcome.guard = json_pack("{s:s}", "name", "cap");
    outcome.requeues = true;
    outcome.last_step = 90;
    outcome.job_id = 4711;
    outcome.restarts = 3;
    outcome.started = 1.25;
    outcome_set_message(&outcome, "a guard");
    json_object_set_new(outcome.finals, "n1", json_integer(7));
    assert_int_equal(outcome_write(&outcome, folder, &err), 0);
    assert_int_equal(outcome_read(folder, NULL, &read, &err), 0);
    json_t *before = outcome_to_json(&outcome), *after = outcome_to_json(&read);
    assert_true(json_equal(before, after));
    json_decref(before);
    json_decref(after);
    outcome_fini(&outcome);
    outcome_fini(&read);
    put("{\"run\": 1}");
    assert_int_equal(outcome_read(folder, NULL, &read, &err), -EINVAL);
}

static void the_outcome_of_another_job_does_not_count(void **state)
{
    static const struct {
        const char *told, *token;
        int result;
    } rows[] = {
        {"aaaa", "aaaa", 0},
        {"aaaa", "bbbb", -ESTALE},
        {"aaaa", "", 0}, /* the token is not known */
        {"", "aaaa", 0}, /* of an older worker */
    };
    (void)state;
    char *path = text_format("%s/outcome.json", folder);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct outcome outcome, read;
        struct error err;
        outcome_init(&outcome, 12);
        (void)snprintf(outcome.token, sizeof outcome.token, "%s", rows[i].told);
        assert_int_equal(outcome_write(&outcome, folder, &err), 0);
        assert_int_equal(outcome_read(folder, rows[i].token, &read, &err), rows[i].result);
        assert_int_equal(outcome_is_there(folder, rows[i].token), rows[i].result == 0);
        if (rows[i].result == 0)
            outcome_fini(&read);
        outcome_fini(&outcome);
        assert_int_equal(unlink(path), 0);
    }
    free(path);
}

/* A record of an older version may have such messages. */
static void a_run_is_sealed_with_a_message_that_is_not_utf_8(void **state)
{
    struct error err;
    (void)state;
    assert_int_equal(outcome_seal(folder, 12, OUTCOME_FAILED, "refused: \xc3", NULL), 0);
    assert_true(outcome_is_sealed(folder, &err));
    assert_string_equal(err.message, "the daemon has declared this run over: failed, refused: ?");
}

#define TESTS(setup)                                                                               \
    cmocka_unit_test_setup_teardown(the_first_lead_of_a_job_that_writes_an_outcome_wins, setup,    \
                                    folder_remove),                                                \
        cmocka_unit_test_setup_teardown(                                                           \
            an_outcome_of_another_job_or_an_unreadable_one_is_replaced, setup, folder_remove),     \
        cmocka_unit_test_setup_teardown(an_outcome_that_is_too_large_exists_and_is_replaced,       \
                                        setup, folder_remove),                                     \
        cmocka_unit_test_setup_teardown(an_outcome_that_cannot_be_checked_stays, setup,            \
                                        folder_remove),                                            \
        cmocka_unit_test_setup_teardown(an_outcome_is_read_as_it_was_written, setup,               \
                                        folder_remove),                                            \
        cmocka_unit_test_setup_teardown(the_outcome_of_another_job_does_not_count, setup,          \
                                        folder_remove),                                            \
        cmocka_unit_test_setup_teardown(a_run_is_sealed_with_a_message_that_is_not_utf_8, setup,   \
                                        folder_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {TESTS(with_links), TESTS(without_links)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
