/* The first line as a pattern of checkpoints; any bytes after it as the checkpoints.json of a run,
 * and as the list in the notes of the next run. The checkpoints that the run has left have the form
 * that journals use. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_folder.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "lib/saved.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char fuzz_corpus[] = "saved";

static void fuzz_pattern(const char *text)
{
    struct saved_pattern *pattern;
    struct error err;
    if (saved_pattern_new(text, &pattern, &err) == 0)
        saved_pattern_free(pattern);
    else
        assert(err.message[0]);
}

static void fuzz_left(const struct saved_limit *limit, const json_t *told)
{
    const json_t *saved;
    size_t i;
    json_t *left = saved_left(fuzz_folder(), 1, 3, limit, told);
    assert(json_is_array(left));
    json_array_foreach(left, i, saved)
    {
        json_int_t step = json_integer_value(json_object_get(saved, "step"));
        assert(step > 3 && step < limit->step);
        assert(json_is_string(json_object_get(saved, "path")));
        assert(json_is_real(json_object_get(saved, "time")));
        assert(!json_object_get(saved, "newest_ns"));
    }
    json_decref(left);
}

/* The next run's notes always have a list. Otherwise the pattern of the notes would be looked for,
 * anywhere on this machine. */
static void fuzz_write_next(const char *bytes, size_t size)
{
    json_t *notes = json_loadb(bytes, size, 0, NULL), *list = json_object_get(notes, "next");
    json_t *next = json_pack("{s:O}", "there", list ? list : notes);
    char *text = next ? json_dumps(next, 0) : xstrdup("{\"there\": []}");
    fuzz_write("2/checkpoints.json", text, strlen(text));
    free(text);
    json_decref(next);
    json_decref(notes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct saved_limit limit = {1000, 1790000000000};
    const char *bytes = (const char *)data, *newline = size ? memchr(bytes, '\n', size) : NULL;
    const char *notes = newline ? newline + 1 : bytes;
    size_t left = size - (size_t)(notes - bytes);
    char *pattern = xstrndup(bytes, newline ? (size_t)(newline - bytes) : 0);
    json_t *told =
        json_pack("[{s:i, s:i}, {s:i, s:i}]", "step", 1, "bytes", 90, "step", 2, "bytes", 100);
    fuzz_pattern(pattern);
    fuzz_write("1/checkpoints.json", notes, left);
    fuzz_write_next(notes, left);
    fuzz_left(&saved_no_limit, NULL);
    fuzz_left(&limit, told);
    json_decref(told);
    free(pattern);
    return 0;
}
