/* Any bytes as a workflow file: either problems, or a document in which every check can be
 * loaded and which reads the same once more. */
#include "tests/fuzz/fuzz.h"

#include "lib/error.h"
#include "lib/expr/check.h"
#include "lib/spec/spec.h"
#include "lib/text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The specs of tests/specs are the inputs; one that broke something goes to the bad ones there. */
const char fuzz_corpus[] = "../../specs/good";

static void fuzz_load_checks(const json_t *checks)
{
    const char *name;
    json_t *json;
    json_object_foreach((json_t *)checks, name, json)
    {
        struct check check;
        struct error err;
        int result = check_from_json(name, json, &check, &err);
        assert(result == 0);
        check_fini(&check);
    }
}

static void fuzz_load(const json_t *workflow)
{
    size_t i;
    json_t *json;
    json_array_foreach(json_object_get(workflow, "phases"), i, json)
    {
        const json_t *time_s = json_object_get(json_object_get(json, "resources"), "time_s");
        assert(json_integer_value(time_s) > 0);
        assert(json_string_length(json_object_get(json, "run")) > 0);
        fuzz_load_checks(json_object_get(json, "gate"));
        fuzz_load_checks(json_object_get(json, "guards"));
    }
    assert(i > 0);
}

static void fuzz_check_problems(const struct spec_problems *problems)
{
    struct text lines = {0};
    size_t line_count = 0, error_count = 0;
    spec_problems_text(problems, &lines);
    for (const char *at = text_string(&lines); *at; at++)
        line_count += *at == '\n';
    assert(problems->count <= SPEC_PROBLEMS_MAX && line_count >= problems->count);
    for (size_t i = 0; i < problems->count; i++) {
        assert(problems->items[i].message[0]);
        error_count += problems->items[i].severity == SPEC_ERROR;
    }
    assert(error_count <= problems->error_count);
    text_fini(&lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const sets[] = {"iterations=7", "lr==2 * iterations"};
    const struct spec_overrides overrides = {
        .texts = sets, .count = size % 3, .try_variants = size % 2};
    struct spec_problems problems = {0};
    json_t *workflow = NULL;
    int result =
        spec_parse("fuzzed.yaml", (const char *)data, size, &overrides, &workflow, &problems);
    assert((result == 0) == (problems.error_count == 0));
    fuzz_check_problems(&problems);
    if (result == 0)
        fuzz_load(workflow);
    json_decref(workflow);
    spec_problems_fini(&problems);
    return 0;
}
