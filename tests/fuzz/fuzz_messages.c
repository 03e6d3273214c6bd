/* Any bytes as a message of lib/protocol: what is read can be written, and reads the same again. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_folder.h"

#include "lib/error.h"
#include "lib/protocol/daemon_file.h"
#include "lib/protocol/entry.h"
#include "lib/protocol/hardware.h"
#include "lib/protocol/job_files.h"
#include "lib/protocol/journal_push.h"
#include "lib/protocol/lead_command.h"
#include "lib/protocol/message.h"
#include "lib/protocol/outcome.h"
#include "lib/protocol/report.h"
#include "lib/protocol/run_file.h"
#include "lib/protocol/sampler_line.h"
#include "lib/protocol/told_checkpoint.h"
#include "lib/protocol/told_evidence.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char fuzz_corpus[] = "messages";

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
    FUZZ_AGAIN(found_failure);
    FUZZ_AGAIN(gpu_devices);
    FUZZ_AGAIN(hardware);
    FUZZ_AGAIN(journal_reply);
    FUZZ_AGAIN(lead_command);
    FUZZ_AGAIN(rank_failure);
    FUZZ_AGAIN(run_input);
    FUZZ_AGAIN(sample);
    FUZZ_AGAIN(sampler_line);
    FUZZ_AGAIN(told_checkpoint);
    FUZZ_AGAIN(told_evidence);
    FUZZ_AGAIN(told_failure);
    FUZZ_AGAIN(told_inspection);
    FUZZ_AGAIN(told_process);
    FUZZ_AGAIN(told_stacks);
    (void)journal_push_read(json); /* either answer is fine */
}

/* The members of each type of entry. */
static void fuzz_entries(const json_t *json)
{
    struct entry entry = entry_read(json);
    json_t *rest = entry_rest(&entry);
    assert(entry.seq >= 0 && entry_first(&entry) <= entry.seq && !json_object_get(rest, "seq"));
    json_decref(rest);
    for (unsigned type = 0; type < ENTRY_TYPE_COUNT; type++) {
        struct entry first = entry_of((enum entry_type)type, json);
        json_t *written = entry_to_json(&first);
        struct entry second = entry_of((enum entry_type)type, written);
        json_t *rewritten = entry_to_json(&second);
        assert(written && json_equal(written, rewritten));
        json_decref(written);
        json_decref(rewritten);
    }
}

/* run.json keeps the members that this program does not know. */
static void fuzz_run_file(const uint8_t *data, size_t size)
{
    struct run_file first, second;
    fuzz_write("run.json", data, size);
    if (run_file_read(fuzz_folder(), &first, NULL) == 0 && json_is_object(first.document)) {
        json_t *written = run_file_to_json(&first);
        int status = message_replace(written, NULL, "%s/run.json", fuzz_folder());
        assert(status == 0);
        status = run_file_read(fuzz_folder(), &second, NULL);
        assert(status == 0);
        json_t *rewritten = run_file_to_json(&second);
        assert(json_equal(written, rewritten));
        json_decref(written);
        json_decref(rewritten);
        run_file_fini(&second);
    }
    run_file_fini(&first);
}

/* current.json and guests.json. */
static void fuzz_job_files(const uint8_t *data, size_t size)
{
    char *run_dir = NULL, *again = NULL;
    fuzz_write("current.json", data, size);
    if (current_read(fuzz_folder(), &run_dir, NULL) == 0) {
        json_t *written = current_to_json(run_dir);
        int status = message_replace(written, NULL, "%s/current.json", fuzz_folder());
        assert(status == 0);
        status = current_read(fuzz_folder(), &again, NULL);
        assert(status == 0 && strcmp(run_dir, again) == 0);
        json_decref(written);
    }
    fuzz_write("guests.json", data, size);
    json_t *guests = guests_read(fuzz_folder());
    if (guests) {
        json_t *written = guests_to_json(json_incref(guests));
        int status = message_replace(written, NULL, "%s/guests.json", fuzz_folder());
        assert(status == 0);
        json_t *reread = guests_read(fuzz_folder());
        assert(json_equal(guests, reread));
        json_decref(written);
        json_decref(reread);
    }
    json_decref(guests);
    free(run_dir);
    free(again);
}

static void fuzz_daemon_file(const uint8_t *data, size_t size)
{
    struct daemon_file file;
    struct error err;
    char *path = fuzz_path("daemon.json");
    fuzz_write("daemon.json", data, size);
    if (daemon_file_read(path, &file, &err) == 0) {
        json_t *written = daemon_file_to_json(&file);
        assert(written && *file.host && file.port > 0 && file.port <= UINT16_MAX);
        json_decref(written);
    } else {
        assert(err.message[0]);
    }
    daemon_file_fini(&file);
    free(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct outcome outcome, again;
    struct error err;
    json_t *json = json_loadb((const char *)data, size, 0, NULL);
    fuzz_messages(json);
    fuzz_entries(json);
    fuzz_run_file(data, size);
    fuzz_job_files(data, size);
    fuzz_daemon_file(data, size);
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
