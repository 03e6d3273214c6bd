/* Any bytes as run.json. A readable assignment gives a placement. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_folder.h"

#include "lib/error.h"
#include "worker/protocol/assignment.h"

#include <assert.h>
#include <stdbool.h>

const char fuzz_corpus[] = "assignment";

static void fuzz_write_secret(void)
{
    static bool is_written;
    if (!is_written)
        fuzz_write("secret", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
                   64);
    is_written = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct assignment *assignment;
    struct error err;
    fuzz_write_secret();
    fuzz_write("run.json", data, size);
    if (assignment_read(fuzz_folder(), &assignment, &err) == 0) {
        assert(assignment->nodes > 0 && assignment->script && assignment->file.run_dir);
        (void)assignment_ranks_per_node(assignment); /* any number is fine */
        assignment_free(assignment);
    } else {
        assert(err.message[0]);
    }
    return 0;
}
