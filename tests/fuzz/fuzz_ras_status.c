/* Any bytes as the status that NCCL's RAS service tells, and any JSON as what an agent has read in
 * it. A result is small and plain, because the report and the verdict contain it. */
#include "tests/fuzz/fuzz.h"

#include "worker/health/ras_status.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char fuzz_corpus[] = "ras_status";

/* What is said has one line of ASCII, and not more than fits. */
static void fuzz_plain(const char *text)
{
    assert(strlen(text) < 120);
    for (; *text; text++)
        assert(*text >= ' ' && *text < 127);
}

static void fuzz_compare(const json_t *answer)
{
    const json_t *const answers[] = {NULL, answer};
    const struct outlier_process outliers[] = {{0, -1}, {4711, 3}};
    for (size_t i = 0; i < 2; i++)
        free(ras_status_compare(answers, 2, &outliers[i]));
}

static void fuzz_read(const char *text)
{
    json_t *found = ras_status_read(text);
    if (found) {
        json_int_t count = json_integer_value(json_object_get(found, "count"));
        const char *who = json_string_value(json_object_get(found, "who"));
        size_t pids = json_array_size(json_object_get(found, "pids"));
        assert(count >= (json_int_t)pids && pids <= 4 && (count == 0) == !who);
        if (who)
            fuzz_plain(who);
    }
    fuzz_compare(found);
    json_decref(found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size);
    assert(text);
    fuzz_read(text);
    json_t *answer = json_loadb((const char *)data, size, JSON_DECODE_ANY, NULL);
    fuzz_compare(answer);
    json_decref(answer);
    free(text);
    return 0;
}
