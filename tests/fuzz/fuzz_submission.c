/* Any bytes as the body of a submission, as the API reads it. The result is problems or a workflow.
 */
#include "tests/fuzz/fuzz.h"

#include "daemon/api/api_private.h"
#include "lib/error.h"

#include <assert.h>

const char fuzz_corpus[] = "submission";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {0};
    json_t *body = json_loadb((const char *)data, size, 0, NULL);
    if (!json_is_object(body)) {
        json_decref(body);
        return 0;
    }
    if (submission_check(body, &err) == 0) {
        json_t *problems = json_array(), *warnings = json_array();
        size_t errors = 0;
        submission_fill(body);
        json_t *resolved = submission_resolve(body, problems, warnings, &errors);
        assert(resolved ? errors == 0 : json_array_size(problems) > 0);
        json_decref(resolved);
        json_decref(problems);
        json_decref(warnings);
    } else {
        assert(err.message[0]);
    }
    json_decref(body);
    return 0;
}
