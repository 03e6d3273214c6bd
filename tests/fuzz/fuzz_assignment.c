/* Any bytes as run.json. A readable assignment gives a placement. */
#include "tests/fuzz/fuzz.h"

#include "lib/error.h"
#include "lib/text.h"
#include "worker/protocol/assignment.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char fuzz_corpus[] = "assignment";

static char folder[64], *path, *secret;

static void fuzz_remove(void)
{
    (void)unlink(path);
    (void)unlink(secret);
    (void)rmdir(folder);
    free(path);
    free(secret);
}

static void fuzz_write(const char *file, const void *data, size_t size)
{
    FILE *out = fopen(file, "we");
    assert(out && fwrite(data, 1, size, out) == size);
    (void)fclose(out);
}

/* A folder in memory if there is one, because it is written ten million times. */
static void fuzz_make(void)
{
    if (path)
        return;
    (void)snprintf(folder, sizeof folder, "/dev/shm/phased-fuzz-XXXXXX");
    if (!mkdtemp(folder)) {
        (void)snprintf(folder, sizeof folder, "/tmp/phased-fuzz-XXXXXX");
        assert(mkdtemp(folder));
    }
    path = text_format("%s/run.json", folder);
    secret = text_format("%s/secret", folder);
    fuzz_write(secret, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", 64);
    (void)atexit(fuzz_remove);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct assignment *assignment;
    struct error err;
    fuzz_make();
    fuzz_write(path, data, size);
    if (assignment_read(folder, &assignment, &err) == 0) {
        assert(assignment->nodes > 0 && assignment->script && assignment->run_dir);
        (void)assignment_ranks_per_node(assignment); /* any number is fine */
        assignment_free(assignment);
    } else {
        assert(err.message[0]);
    }
    return 0;
}
