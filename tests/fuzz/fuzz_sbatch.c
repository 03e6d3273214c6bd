/* Any bytes as an sbatch script: what becomes of it is YAML, of one phase, whose `run` has every
 * line of the script. */
#include "tests/fuzz/fuzz.h"

#include "lib/sbatch/import.h"
#include "lib/sbatch/script.h"
#include "lib/spec/spec.h"
#include "lib/text.h"

#include <assert.h>
#include <string.h>

const char fuzz_corpus[] = "../../sbatch/one";

/* YAML takes off empty lines at the end. */
static void fuzz_check_run(const json_t *workflow, const struct sbatch_script *script)
{
    const json_t *phase = json_array_get(json_object_get(workflow, "phases"), 0);
    const char *run = json_string_value(json_object_get(phase, "run"));
    const char *body = text_string(&script->body);
    size_t size = script->body.size;
    assert(run);
    while (size && body[size - 1] == '\n')
        size--;
    assert(size == 0 || memmem(run, strlen(run), body, size));
}

static void fuzz_check_workflow(const struct text *text, const char *data, size_t size)
{
    struct spec_problems problems = {0}, ignored = {0};
    struct sbatch_script script = {.keeps_lines = size % 2};
    json_t *workflow = NULL;
    sbatch_script_read(&script, "a.sh", data, size, &ignored);
    if (spec_parse("a.yaml", text_string(text), text->size, NULL, &workflow, &problems) == 0)
        fuzz_check_run(workflow, &script);
    for (size_t i = 0; i < problems.count; i++) /* values may be too large, but it is YAML */
        assert(*problems.items[i].path || text->size > SPEC_SIZE_MAX ||
               strstr(problems.items[i].message, "empty lines"));
    sbatch_script_fini(&script);
    spec_problems_fini(&problems);
    spec_problems_fini(&ignored);
    json_decref(workflow);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sbatch_source source = {
        .file = "a.sh", .data = (const char *)data, .size = size, .keeps_lines = size % 2};
    struct spec_problems problems = {0};
    struct text text = {0};
    if (sbatch_import(&source, 1, NULL, &text, &problems) == 0)
        fuzz_check_workflow(&text, source.data, size);
    else
        assert(problems.error_count);
    spec_problems_fini(&problems);
    text_fini(&text);
    return 0;
}
