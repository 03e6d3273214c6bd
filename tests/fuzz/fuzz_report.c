/* Any bytes as the texts of a report. The report stays one short line, which the lead can read and
 * make an outcome of. And any bytes as the line of an agent. */
#include "tests/fuzz/fuzz.h"

#include "lib/error.h"
#include "lib/protocol/outcome.h"
#include "lib/protocol/report.h"
#include "worker/lead/lead_run.h"
#include "worker/protocol/assignment.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const char fuzz_corpus[] = "report";

enum { FUZZ_TEXTS = 4 };

/* The lead keeps what a report says, and can write it. */
static void fuzz_take(const struct report *report)
{
    struct assignment assignment = {0};
    struct lead_run run = {.assignment = &assignment, .saved_step = -1};
    struct outcome again;
    struct error err;
    outcome_init(&run.outcome, 7);
    lead_run_add_start(&run, report->time);
    lead_run_add_end(&run, "n1", report);
    lead_run_add_end(&run, "n2", report);
    (void)lead_run_decide_failed(&run, report->failed, "n1"); /* it is new */
    json_t *written = outcome_to_json(&run.outcome);
    assert(written && run.saved_step >= -1);
    int status = outcome_from_json(written, &again, &err);
    assert(status == 0 && strcmp(again.message, run.outcome.message) == 0);
    outcome_fini(&again);
    json_decref(written);
    json_decref(run.failed);
    json_decref(run.failure);
    free(run.failed_node);
    free(run.failure_node);
    outcome_fini(&run.outcome);
}

/* Lines are the texts of the longest report that an agent sends. */
static char *fuzz_failed(const char *line, const char *end)
{
    json_t *texts[FUZZ_TEXTS];
    for (size_t i = 0; i < FUZZ_TEXTS; i++) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *stop = newline ? newline : end;
        texts[i] = json_stringn(line, (size_t)(stop - line));
        if (!texts[i])
            texts[i] = json_string("not UTF-8");
        line = newline ? newline + 1 : end;
    }
    const struct rank_failure failed = {
        .rank = 1023, .group = -1, .code = 1, .line = json_string_value(texts[0])};
    const struct report report = {
        .kind = REPORT_FAILED,
        .failed = rank_failure_to_json(&failed),
        .failure =
            json_pack("{s:s, s:O, s:i, s:s, s:O}", "name", "cuda_oom", "line", texts[1], "rank",
                      1023, "time", "2026-01-01T00:00:00.000000Z", "advice", texts[2]),
        .message = json_string_value(texts[3]),
        .start_number = 7,
        .node = "n1023",
        .index = 1023,
    };
    char *sent = report_to_line(&report);
    json_decref(report.failed);
    json_decref(report.failure);
    for (size_t i = 0; i < FUZZ_TEXTS; i++)
        json_decref(texts[i]);
    return sent;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    json_t *line = json_loadb(bytes, size, 0, NULL);
    struct report report;
    if (report_read(line, &report))
        fuzz_take(&report);
    json_decref(line);

    char *sent = fuzz_failed(bytes, bytes + size);
    size_t length = strlen(sent);
    assert(length <= REPORT_SIZE_MAX && strchr(sent, '\n') == sent + length - 1);
    json_t *read = json_loadb(sent, length, JSON_ALLOW_NUL, NULL);
    bool is_read = report_read(read, &report);
    assert(is_read && report.kind == REPORT_FAILED && report.start_number == 7);
    fuzz_take(&report);
    json_decref(read);
    free(sent);
    return 0;
}
