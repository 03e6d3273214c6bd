/* struct error: positions, prefixes and long texts. */
#include "tests/unit/unit.h"

#include "lib/error.h"

#include <errno.h>
#include <string.h>

static void a_position_comes_before_the_message(void **state)
{
    (void)state;
    struct error err;
    char text[256];
    assert_int_equal(error_set_at(&err, -EINVAL, "a.yaml", 3, 7, "no %s", "gate"), -EINVAL);
    assert_string_equal(error_text(&err, text, sizeof text), "a.yaml:3:7: no gate");
}

static void a_prefix_adds_context_and_keeps_the_code(void **state)
{
    (void)state;
    struct error err;
    (void)error_set(&err, -ENOSPC, "disk full");
    assert_int_equal(error_prefix(&err, "could not open the record"), -ENOSPC);
    assert_string_equal(err.message, "could not open the record: disk full");
}

static void a_long_message_is_cut_and_terminated(void **state)
{
    (void)state;
    struct error err;
    char longer[2048];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    (void)error_set(&err, -EIO, "%s", longer);
    (void)error_prefix(&err, "%s", longer);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
}

static void a_null_error_still_returns_the_code(void **state)
{
    (void)state;
    assert_int_equal(error_set(NULL, -EPERM, "no"), -EPERM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_position_comes_before_the_message),
        cmocka_unit_test(a_prefix_adds_context_and_keeps_the_code),
        cmocka_unit_test(a_long_message_is_cut_and_terminated),
        cmocka_unit_test(a_null_error_still_returns_the_code),
    };
    return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
