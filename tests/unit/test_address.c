/* Addresses: which texts are addresses, and the path of each in the API. */
#include "tests/unit/unit.h"

#include "lib/address.h"
#include "lib/error.h"

#include <errno.h>
#include <string.h>

static void an_address_survives_parsing_and_formatting(void **state)
{
    (void)state;
    static const struct {
        const char *text, *path;
        enum address_kind kind;
    } rows[] = {
        {"7", "/v1/workflows/7", ADDRESS_WORKFLOW},
        {"9223372036854775807", "/v1/workflows/9223372036854775807", ADDRESS_WORKFLOW},
        {"7/validate", "/v1/workflows/7/phases/validate", ADDRESS_PHASE},
        {"7/_a_1", "/v1/workflows/7/phases/_a_1", ADDRESS_PHASE},
        {"7/ladder.12", "/v1/workflows/7/phases/ladder.12", ADDRESS_PHASE},
        {"7/ladder.12#2", "/v1/workflows/7/phases/ladder.12/runs/2", ADDRESS_RUN},
        {"7/validate#2", "/v1/workflows/7/phases/validate/runs/2", ADDRESS_RUN},
        {"12/v#4294967295", "/v1/workflows/12/phases/v/runs/4294967295", ADDRESS_RUN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct address address;
        char text[ADDRESS_TEXT_SIZE], path[ADDRESS_PATH_SIZE];
        assert_int_equal(address_parse(rows[i].text, &address, NULL), 0);
        assert_int_equal(address_kind(&address), rows[i].kind);
        assert_string_equal(address_text(&address, text), rows[i].text);
        assert_string_equal(address_path(&address, path), rows[i].path);
    }
}

static void the_longest_address_fits_its_buffers(void **state)
{
    (void)state;
    struct address address = {.workflow = INT64_MAX, .attempt = UINT32_MAX}, parsed;
    memset(address.phase, 'p', ADDRESS_NAME_MAX);
    memcpy(address.phase + ADDRESS_NAME_MAX, ".4294967295", 12);
    char text[ADDRESS_TEXT_SIZE], path[ADDRESS_PATH_SIZE];
    address_text(&address, text);
    assert_int_equal(address_parse(text, &parsed, NULL), 0);
    assert_string_equal(parsed.phase, address.phase);
    assert_int_equal(parsed.attempt, address.attempt);
    assert_non_null(strstr(address_path(&address, path), "/runs/4294967295"));
}

static void anything_else_is_refused_and_explained(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "",
        "0",
        "07",
        "-7",
        "7 ",
        "x",
        "7/",
        "7//a",
        "7/a/b",
        "7/1a",
        "7/a b",
        "7/a#",
        "7/a#0",
        "7/a#02",
        "7/a#2x",
        "7#2",
        "/validate",
        "validate",
        "7/../8",
        "9223372036854775808",
        "7/a#-1",
        "7/a#999999999999",
        "7/ppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp",
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct address address = {.workflow = 99};
        struct error err;
        assert_int_equal(address_parse(rows[i], &address, &err), -EINVAL);
        assert_int_equal(address.workflow, 99);
        assert_non_null(strstr(err.message, "7/validate#2"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_survives_parsing_and_formatting),
        cmocka_unit_test(the_longest_address_fits_its_buffers),
        cmocka_unit_test(anything_else_is_refused_and_explained),
    };
    return cmocka_run_group_tests_name("address", tests, NULL, NULL);
}
