/* Any bytes as the journals of a killed lead and of its node. The outcome that the next lead makes
 * of them can be written, and reads the same again. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_folder.h"

#include "lib/error.h"
#include "lib/protocol/outcome.h"
#include "worker/protocol/phase_claim.h"
#include "worker/protocol/posthumous.h"

#include <assert.h>
#include <stddef.h>

const char fuzz_corpus[] = "journal";

static void fuzz_read(const struct phase_life *claimed)
{
    struct outcome outcome, again;
    struct error err;
    outcome_init(&outcome, 7);
    enum posthumous_end end = posthumous_read(fuzz_folder(), claimed, 1, &outcome);
    if (end != POSTHUMOUS_NOT_BEGUN) {
        json_t *written = outcome_to_json(&outcome);
        assert(written);
        int status = outcome_from_json(written, &again, &err);
        assert(status == 0 && again.kind == outcome.kind && again.cause == outcome.cause);
        json_t *rewritten = outcome_to_json(&again);
        assert(json_equal(written, rewritten));
        json_decref(rewritten);
        json_decref(written);
        outcome_fini(&again);
    }
    outcome_fini(&outcome);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct phase_life life = {.job_id = 17, .token = "aaaa"};
    fuzz_write("journal/lead.jsonl", data, size);
    fuzz_write("journal/n1.jsonl", data, size);
    fuzz_read(NULL);
    fuzz_read(&life);
    (void)posthumous_has_ended(fuzz_folder()); /* either answer is fine */
    return 0;
}
