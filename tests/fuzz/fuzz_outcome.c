/* Any bytes as outcome.json, and as the small messages: what is read can be written, and reads the
 * same again. */
#include "tests/fuzz/fuzz.h"

#include "lib/error.h"
#include "lib/protocol/hardware.h"
#include "lib/protocol/journal_push.h"
#include "lib/protocol/lead_command.h"
#include "lib/protocol/outcome.h"
#include "lib/protocol/report.h"
#include "lib/protocol/run_file.h"
#include "lib/protocol/told_checkpoint.h"

#include <assert.h>
#include <string.h>

const char fuzz_corpus[] = "outcome";

#define FUZZ_AGAIN(object)                                                                         \
    do {                                                                                           \
        struct object first = object##_read(json);                                                 \
        json_t *written = object##_to_json(&first);                                                \
        struct object second = object##_read(written);                                             \
        json_t *rewritten = object##_to_json(&second);                                             \
        assert(written &&json_equal(written, rewritten));                                          \
        json_decref(written);                                                                      \
        json_decref(rewritten);                                                                    \
    } while (0)

static void fuzz_messages(const json_t *json)
{
    FUZZ_AGAIN(hardware);
    FUZZ_AGAIN(journal_reply);
    FUZZ_AGAIN(lead_command);
    FUZZ_AGAIN(rank_failure);
    FUZZ_AGAIN(run_input);
    FUZZ_AGAIN(told_checkpoint);
    (void)journal_push_read(json); /* either answer is fine */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct outcome outcome, again;
    struct error err;
    json_t *json = json_loadb((const char *)data, size, 0, NULL);
    fuzz_messages(json);
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
