/* Any bytes as the output of phase-model generate that a run goes on with, and as its input. An
 * output that was written for the input can be continued after each line. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_folder.h"

#include "lib/error.h"
#include "worker/model/prompts.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

const char fuzz_corpus[] = "prompts";

enum { FUZZ_LINES = 8 };

static void fuzz_continue(const char *input, const char *output)
{
    struct prompts prompts;
    struct error err;
    int result = prompts_open(&prompts, input, output, &err);
    assert(result == 0 ? prompts.done <= prompts.count : err.message[0]);
    (void)prompts_close(&prompts, result, &err); /* the same result: nothing was written */
}

/* Writes one line at a time, with the prompt as the text, too. */
static void fuzz_write_lines(const char *input, const char *output)
{
    struct prompts prompts;
    struct error err;
    size_t count = 1;
    (void)unlink(output);
    for (size_t i = 0; i < count && i < FUZZ_LINES; i++) {
        int result = prompts_open(&prompts, input, output, &err);
        assert(result == 0 && prompts.done == (i < prompts.count ? i : prompts.count));
        count = prompts.count;
        if (i < count) {
            const struct prompt *prompt = &prompts.prompts[i];
            result = prompts_write(&prompts, i, (const char *)prompt->bytes, prompt->size, &err);
            assert(result == 0);
        }
        result = prompts_close(&prompts, result, &err);
        assert(result == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *input = fuzz_path("input"), *output = fuzz_path("output");
    fuzz_write("input", data, size);
    fuzz_write("output", data, size);
    fuzz_continue(input, output);
    fuzz_write_lines(input, output);
    free(output);
    free(input);
    return 0;
}
