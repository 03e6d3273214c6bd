/* Any bytes as outcome.json: what is read can be written, and reads the same again. */
#include "tests/fuzz/fuzz.h"

#include "lib/error.h"
#include "lib/protocol/outcome.h"

#include <assert.h>
#include <string.h>

const char fuzz_corpus[] = "outcome";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct outcome outcome, again;
    struct error err;
    json_t *json = json_loadb((const char *)data, size, 0, NULL);
    if (outcome_from_json(json, &outcome, &err) == 0) {
        json_t *written = outcome_to_json(&outcome);
        int status = outcome_from_json(written, &again, &err);
        assert(status == 0 && again.kind == outcome.kind && again.cause == outcome.cause);
        assert(strcmp(again.message, outcome.message) == 0);
        json_t *rewritten = outcome_to_json(&again);
        assert(json_equal(written, rewritten));
        json_decref(written);
        json_decref(rewritten);
        outcome_fini(&outcome);
        outcome_fini(&again);
    } else {
        assert(err.message[0]);
    }
    json_decref(json);
    return 0;
}
