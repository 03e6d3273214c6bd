/* Runs a fuzz target on its corpus and on fixed mutations of each input. With arguments, runs only
 * those files. Prints TAP. It is left out when libFuzzer has its own main. */
#include "tests/fuzz/fuzz.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/text.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef PHASED_LIBFUZZER

enum {
    FUZZ_MUTATIONS = 200,      /* of each input */
    FUZZ_INPUT_MAX = 64 << 20, /* bytes */
};

static uint32_t fuzz_random(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

/* Changes some bytes and often shortens the input, in a buffer of exactly its size, so that a read
 * past the end is noticed. */
static void fuzz_mutate(const char *data, size_t size, uint32_t *random)
{
    static const char splices[] = "()'\"{}[]:=,.-+eE0919\n\r\t \x1b\x80\xff";
    size_t kept = fuzz_random(random, 2) ? size : fuzz_random(random, (uint32_t)size + 1);
    uint8_t *mutated = malloc(kept ? kept : 1);
    if (!mutated)
        abort();
    memcpy(mutated, data, kept);
    for (uint32_t i = fuzz_random(random, 8); kept && i > 0; i--) {
        uint8_t *at = &mutated[fuzz_random(random, (uint32_t)kept)];
        *at = fuzz_random(random, 2) ? (uint8_t)fuzz_random(random, 256)
                                     : (uint8_t)splices[fuzz_random(random, sizeof splices)];
    }
    (void)LLVMFuzzerTestOneInput(mutated, kept);
    free(mutated);
}

static int fuzz_run_file(const char *path, int mutations)
{
    struct error err;
    char *data;
    size_t size;
    uint32_t random = 1;
    if (file_read(path, FUZZ_INPUT_MAX, &data, &size, &err) < 0) {
        printf("# %s\n", err.message);
        return -1;
    }
    (void)LLVMFuzzerTestOneInput((const uint8_t *)data, size);
    for (int i = 0; i < mutations; i++)
        fuzz_mutate(data, size, &random);
    free(data);
    return 0;
}

/* Returns the number of inputs, or -1. */
static int fuzz_run_folder(const char *folder)
{
    int count = 0;
    struct dirent **entries;
    int found = scandir(folder, &entries, NULL, alphasort);
    if (found < 0)
        return -1;
    for (int i = 0; i < found; i++) {
        char *path = text_format("%s/%s", folder, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && count >= 0)
            count = fuzz_run_file(path, FUZZ_MUTATIONS) < 0 ? -1 : count + 1;
        free(path);
        free(entries[i]);
    }
    free(entries);
    return count;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? argc - 1 : 0;
    for (int i = 1; i < argc; i++)
        if (fuzz_run_file(argv[i], 0) < 0)
            return 1;
    if (argc == 1) {
        const char *source = getenv("SRC");
        char *folder = text_format("%s/tests/fuzz/corpus/%s", source ? source : ".", fuzz_corpus);
        count = fuzz_run_folder(folder);
        free(folder);
    }
    printf("1..1\n%sok 1 - %d inputs of %s and their mutations do no harm\n",
           count > 0 ? "" : "not ", count, fuzz_corpus);
    return count > 0 ? 0 : 1;
}

#endif
