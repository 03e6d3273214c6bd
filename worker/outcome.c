/* Writing the outcome of a run. */
#include "worker/outcome.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const outcome_kinds[] = {
    [OUTCOME_SUCCEEDED] = "succeeded", [OUTCOME_FAILED] = "failed",
    [OUTCOME_PREEMPTED] = "preempted", [OUTCOME_TIMED_OUT] = "timed_out",
    [OUTCOME_CANCELLED] = "cancelled",
};

static const char *const outcome_causes[] = {
    [OUTCOME_CAUSE_NONE] = NULL,
    [OUTCOME_CAUSE_EXIT] = "exit",
    [OUTCOME_CAUSE_NAN] = "nan",
    [OUTCOME_CAUSE_GUARD] = "guard",
    [OUTCOME_CAUSE_NODE_FAIL] = "node_fail",
    [OUTCOME_CAUSE_LAUNCH] = "launch",
};

void outcome_init(struct outcome *outcome, int64_t run)
{
    *outcome = (struct outcome){.run = run, .finals = json_object()};
}

void outcome_fini(struct outcome *outcome)
{
    json_decref(outcome->guard);
    json_decref(outcome->finals);
    *outcome = (struct outcome){0};
}

void outcome_set_message(struct outcome *outcome, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(outcome->message, sizeof(outcome->message), format, args); /* may be cut */
    va_end(args);
    json_t *string = json_string(outcome->message);
    for (char *at = outcome->message; !string && *at; at++)
        if ((unsigned char)*at >= 0x80)
            *at = '?';
    json_decref(string);
}

const char *outcome_kind_name(enum outcome_kind kind)
{
    return outcome_kinds[kind];
}

const char *outcome_cause_name(enum outcome_cause cause)
{
    return outcome_causes[cause];
}

json_t *outcome_to_json(const struct outcome *outcome)
{
    json_t *step = outcome->has_step ? json_integer(outcome->last_step) : json_null();
    json_t *json = json_pack(
        "{s:I, s:I, s:i, s:s, s:s?, s:i, s:i, s:s, s:O?, s:f, s:f, s:O, s:o}", "run",
        (json_int_t)outcome->run, "job_id", (json_int_t)outcome->job_id, "restarts",
        (int)outcome->restarts, "outcome", outcome_kind_name(outcome->kind), "cause",
        outcome_cause_name(outcome->cause), "exit_code", outcome->exit_code, "signal",
        outcome->signal, "message", outcome->message, "guard", outcome->guard, "started",
        outcome->started, "ended", outcome->ended, "finals", outcome->finals, "last_step", step);
    if (!json)
        abort();
    return json;
}

int outcome_write(const struct outcome *outcome, const char *run_dir, struct error *err)
{
    json_t *json = outcome_to_json(outcome);
    char *text = json_dumps(json, JSON_INDENT(1) | JSON_REAL_PRECISION(16));
    char *path = text_format("%s/outcome.json", run_dir);
    if (!text)
        abort();
    int result = file_replace(path, text, strlen(text), 0600, err);
    free(path);
    free(text);
    json_decref(json);
    return result;
}

bool outcome_is_written(const char *run_dir)
{
    char *path = text_format("%s/outcome.json", run_dir);
    bool is_written = access(path, F_OK) == 0;
    free(path);
    return is_written;
}
