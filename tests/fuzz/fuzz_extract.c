/* Any bytes as a program's output, in every kind of extraction, whole and in small pieces. Nothing
 * breaks, names stay plain, and the cuts make no difference. */
#include "tests/fuzz/fuzz.h"

#include "lib/metrics/extract.h"
#include "lib/text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char fuzz_corpus[] = "extract";

static void fuzz_row(void *context, const struct extract_row *row)
{
    assert(row->count > 0 && row->count <= EXTRACT_VALUES_MAX);
    assert(row->step >= 0 && row->step <= EXTRACT_STEP_MAX);
    for (size_t i = 0; i < row->count; i++) {
        const char *name = row->values[i].name;
        size_t size = strlen(name);
        assert(size > 0 && size <= EXTRACT_NAME_MAX && name[0] >= 'a' && name[0] <= 'z');
        assert(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == size);
    }
    extract_row_write(row, context);
    text_add(context, "\n");
}

static char *fuzz_run(const struct extract_options *options, const uint8_t *data, size_t size,
                      size_t piece, bool flushes)
{
    struct text rows = {0};
    struct extract *extract;
    int status = extract_new(options, fuzz_row, &rows, &extract, NULL);
    assert(status == 0);
    for (size_t at = 0; at < size; at += piece) {
        extract_feed(extract, data + at, size - at < piece ? size - at : piece);
        if (flushes)
            extract_flush(extract, (int64_t)at * 1000);
    }
    extract_end(extract);
    extract_free(extract);
    return text_steal(&rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct extract_options options[] = {
        {.kind = EXTRACT_AUTO},
        {.kind = EXTRACT_AUTO, .step_name = "epoch"},
        {.kind = EXTRACT_FILE},
        {.kind = EXTRACT_PATTERN, .pattern = "(?<name>\\w+)[=:] *(?<value>\\S+)|(?<step>\\d+)/"},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        char *whole = fuzz_run(&options[i], data, size, size + 1, false);
        char *pieces = fuzz_run(&options[i], data, size, 5, false);
        free(fuzz_run(&options[i], data, size, 5, true));
        assert(text_equal(whole, pieces));
        free(whole);
        free(pieces);
    }
    return 0;
}
