/* Any lines as lines of the channel. Names must be plain, and steps within bounds. */
#include "tests/fuzz/fuzz.h"

#include "worker/node/channel.h"

#include <assert.h>
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

const char fuzz_corpus[] = "channel";

static void fuzz_metric(void *context, const struct extract_row *row)
{
    (void)context;
    assert(row->count > 0 && row->count <= EXTRACT_VALUES_MAX);
    assert(row->step >= 0 && row->step <= EXTRACT_STEP_MAX);
    for (size_t i = 0; i < row->count; i++) {
        const char *name = row->values[i].name;
        assert(*name && strlen(name) <= EXTRACT_NAME_MAX);
        for (; *name; name++)
            assert(isalnum((unsigned char)*name) || *name == '_');
    }
}

static void fuzz_checkpoint(void *context, const char *path, int64_t step)
{
    (void)context;
    assert(path && step >= 0 && step <= EXTRACT_STEP_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct channel_listener listener = {fuzz_metric, fuzz_checkpoint, NULL};
    const char *line = (const char *)data, *end = line + size;
    while (line < end) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((newline ? newline : end) - line);
        channel_read(&listener, line, length);
        line += length + 1;
    }
    return 0;
}
