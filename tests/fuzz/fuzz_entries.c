/* Any lines as entries of a journal. The record accepts them, or a warning in their place, and
 * answers questions afterwards. The core's events must be within bounds. */
#include "tests/fuzz/fuzz.h"
#include "tests/unit/record.h"

#include "daemon/ingest/entry.h"
#include "daemon/store/answers.h"
#include "daemon/store/store_private.h"
#include "lib/expr/metrics.h"
#include "lib/text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char fuzz_corpus[] = "entries";

static const int64_t step_max = 9007199254740991; /* 2^53 - 1 */

static struct record record;

static void fuzz_close(void)
{
    record_close(&record);
}

/* One record for all inputs. Each input removes what it wrote. */
static void fuzz_open(void)
{
    if (record.store)
        return;
    record_open(&record);
    struct workflow *workflow = record_workflow(7);
    workflow->phases[0].id = 1;
    workflow->phases[1].id = 2;
    record_insert(&record, workflow);
    (void)record_add_run(&record, &workflow->phases[0], 1, 1);
    workflow_free(workflow);
    (void)atexit(fuzz_close);
}

static void fuzz_event(const struct entry *entry)
{
    struct outcome outcome = outcome_view(entry->json);
    char buffer[REASON_MAX];
    struct core_event event;
    if (entry_event(entry, buffer, &event))
        assert(event.step >= -step_max && event.step <= step_max && event.started_ms >= 0);
    if (entry_outcome(&outcome, &event))
        assert(event.step <= step_max && event.message && event.ended_ms >= 0 &&
               (!event.node || !strpbrk(event.node, " \n[];/")));
    assert(entry->step >= -step_max && entry->step <= step_max);
}

static void fuzz_write(const char *line, size_t size, const char *node)
{
    const struct entry_origin origin = {.workflow = 7, .phase = 1, .run = 1, .node = node};
    struct error err;
    json_t *json = json_loadb(line, size, 0, NULL);
    struct entry entry = entry_read(json);
    if (!json)
        return;
    int status = entry_write(&entry, &origin, record.store, &err);
    assert(status == 0);
    fuzz_event(&entry);
    status = store_failure_put(record.store, 1, json_object_get(json, "failure"), "exit", &err);
    assert(status == 0 || store_excuse(record.store));
    json_decref(json);
}

/* The written rows can be read, and SQLite would commit them. */
static void fuzz_ask(void)
{
    struct error err;
    json_t *json;
    struct metrics *metrics = metrics_new();
    int keys, highest;
    assert(answer_run(record.store, 7, "validate", 1, &json, &err) == 0);
    json_decref(json);
    assert(answer_gpus(record.store, 1, &json, &err) == 0);
    json_decref(json);
    assert(answer_preflight(record.store, 1, &json, &err) == 0);
    json_decref(json);
    const struct answer_range all = {.from = INT64_MIN, .to = INT64_MAX};
    assert(answer_metrics(record.store, 1, NULL, 0, &all, &json, &err) == 0);
    json_decref(json);
    assert(answer_events(record.store, 0, 7, 1000, &json, &err) == 0);
    json_decref(json);
    assert(store_metrics_load(record.store, 1, record_now_ms(), NULL, metrics, NULL, &err) == 0);
    metrics_free(metrics);
    (void)sqlite3_db_status(record.store->db, SQLITE_DBSTATUS_DEFERRED_FKS, &keys, &highest, 0);
    assert(keys == 0 && record.store->spoiled.code == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_open();
    record_begin(&record);
    const char *line = (const char *)data, *end = line + size;
    for (unsigned count = 0; line < end; count++) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((newline ? newline : end) - line);
        fuzz_write(line, length, count % 2 ? "lead" : "n1");
        line += length + 1;
    }
    fuzz_ask();
    store_rollback(record.store);
    return 0;
}
