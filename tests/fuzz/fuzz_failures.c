/* Any bytes as a user's file of failures, and as the lines of a log. Built-in entries stay, every
 * entry is complete, and every finding can be shown. */
#include "tests/fuzz/fuzz.h"

#include "lib/failures/catalogue.h"
#include "lib/failures/recognizer.h"
#include "lib/text.h"

#include <assert.h>
#include <string.h>

const char fuzz_corpus[] = "failures";

static bool fuzz_has(const json_t *catalogue, const char *name)
{
    const json_t *entry;
    size_t i;
    json_array_foreach(catalogue, i, entry)
    {
        if (text_equal(json_string_value(json_object_get(entry, "name")), name))
            return true;
    }
    return false;
}

static void fuzz_check_catalogue(const json_t *catalogue)
{
    static const char *const keys[] = {"name",  "title", "pattern", "cause",
                                       "blame", "tells", "advice"};
    const json_t *entry;
    size_t i;
    assert(json_array_size(catalogue) <= CATALOGUE_ENTRIES_MAX);
    json_array_foreach(catalogue, i, entry)
    {
        for (size_t key = 0; key < sizeof keys / sizeof *keys; key++)
            assert(json_is_string(json_object_get(entry, keys[key])));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct spec_problems problems = {0};
    struct finding finding;
    json_t *catalogue = catalogue_read((const char *)data, size, &problems);
    fuzz_check_catalogue(catalogue);
    /* Only a file that names an entry can remove it. */
    assert(memmem(data, size, "cuda", 4) || memmem(data, size, "\\", 1) ||
           json_array_size(catalogue) == CATALOGUE_ENTRIES_MAX || fuzz_has(catalogue, "cuda_oom"));
    struct recognizer *recognizer = recognizer_new(catalogue);
    if (recognizer_look(recognizer, (const char *)data, size, &finding)) {
        json_t *line = json_string(finding.line);
        assert(line && finding.entry && finding.tells == finding_tells_of(finding.entry));
        assert(strlen(finding.line) <= FINDING_LINE_MAX);
        json_decref(line);
    }
    recognizer_free(recognizer);
    json_decref(catalogue);
    spec_problems_fini(&problems);
    return 0;
}
