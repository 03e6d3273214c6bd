/* What the API answers when it fails. */
#include "tests/unit/unit.h"

#include "daemon/api/api_private.h"
#include "lib/error.h"

#include <errno.h>

/* In place of the server. */

static enum api_error replied;

void request_reply_error(struct request *request, enum api_error error, const char *where,
                         const char *format, ...)
{
    (void)request, (void)where, (void)format;
    replied = error;
}

void request_reply_json(struct request *request, unsigned status, json_t *json)
{
    (void)request, (void)status, (void)json;
    fail_msg("this is not a failure");
}

const char *request_query(const struct request *request, const char *name)
{
    (void)request, (void)name;
    return NULL;
}

const char *request_body(const struct request *request, size_t *ret_size)
{
    (void)request;
    *ret_size = 0;
    return "";
}

/* A client may ask again later if the failure may pass. */
static void a_failure_that_may_pass_makes_the_api_unavailable(void **state)
{
    static const struct {
        int code;
        enum api_error error;
    } rows[] = {
        {-ENOENT, API_NOT_FOUND},   {-EINVAL, API_BAD_REQUEST}, {-ENOSPC, API_UNAVAILABLE},
        {-EDQUOT, API_UNAVAILABLE}, {-EROFS, API_UNAVAILABLE},  {-EACCES, API_UNAVAILABLE},
        {-EBUSY, API_UNAVAILABLE},  {-EIO, API_UNAVAILABLE},    {-EUCLEAN, API_UNAVAILABLE},
        {-EEXIST, API_INTERNAL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error err;
        (void)error_set(&err, rows[i].code, "it failed");
        call_fail(NULL, NULL, &err);
        assert_int_equal(replied, rows[i].error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_that_may_pass_makes_the_api_unavailable),
    };
    return cmocka_run_group_tests_name("call", tests, NULL, NULL);
}
