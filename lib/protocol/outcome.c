/* Writes and reads the outcome of a run. */
#include "lib/protocol/outcome.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/protocol/message.h"
#include "lib/text.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOMBSTONE "%s/tombstone.json"

void outcome_init(struct outcome *outcome, int64_t run)
{
    *outcome = (struct outcome){.run = run, .kind = OUTCOME_SUCCEEDED, .finals = json_object()};
}

void outcome_fini(struct outcome *outcome)
{
    json_decref(outcome->guard);
    json_decref(outcome->evidence);
    json_decref(outcome->failure);
    json_decref(outcome->finals);
    *outcome = (struct outcome){0};
}

void outcome_set_message(struct outcome *outcome, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(outcome->message, sizeof outcome->message, format, args); /* may be cut */
    va_end(args);
    json_t *string = json_string(outcome->message);
    for (char *at = outcome->message; !string && *at; at++)
        if ((unsigned char)*at >= 0x80)
            *at = '?';
    json_decref(string);
}

void outcome_blame(struct outcome *outcome, const char *complaint)
{
    static const char *const before[] = {"Node failure on ", " failed on node "};
    static const char name_characters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    assert(complaint);
    /* Such as "n1: task 0: Aborted". After "Killed" the node is not blamed, because a person or the
     * OOM killer has sent SIGKILL. */
    bool is_of_task = strstr(complaint, ": task ") && !text_ends(complaint, ": Killed");
    const char *name = is_of_task ? complaint : NULL;
    for (size_t i = 0; i < sizeof before / sizeof before[0] && !name; i++) {
        const char *found = strstr(complaint, before[i]);
        name = found ? found + strlen(before[i]) : NULL;
    }
    size_t size = name ? strspn(name, name_characters) : 0;
    if (size == 0 || size >= sizeof outcome->node || (name[size] && name[size] != ':'))
        return; /* no name, or several nodes, of which any may have failed first */
    (void)snprintf(outcome->node, sizeof outcome->node, "%.*s", (int)size, name);
}

json_t *outcome_to_json(const struct outcome *outcome)
{
    json_t *step = outcome->has_step ? json_integer(outcome->last_step) : json_null();
    json_t *json = json_pack(
        "{s:I, s:I, s:s?, s:i, s:s, s:s?, s:i, s:i, s:s, s:s?, s:O?, s:O?, s:O?, s:f, s:f, "
        "s:O, s:o, s:b}",
        "run", (json_int_t)outcome->run, "job_id", (json_int_t)outcome->job_id, "token",
        outcome->token[0] ? outcome->token : NULL, "restarts", (int)outcome->restarts, "outcome",
        run_outcome_name(outcome->kind), "cause",
        outcome->cause ? run_cause_name(outcome->cause) : NULL, "exit_code", outcome->exit_code,
        "signal", outcome->signal, "message", outcome->message, "node",
        outcome->node[0] ? outcome->node : NULL, "guard", outcome->guard, "evidence",
        outcome->evidence, "failure", outcome->failure, "started", outcome->started, "ended",
        outcome->ended, "finals", outcome->finals, "last_step", step, "requeues",
        outcome->requeues);
    if (!json)
        abort();
    return json;
}

int outcome_from_json(const json_t *json, struct outcome *ret_outcome, struct error *err)
{
    struct outcome outcome = {0};
    json_int_t run, job_id, restarts;
    const char *kind, *message;
    json_t *finals;
    json_error_t where;
    if (json_unpack_ex((json_t *)json, &where, 0,
                       "{s:I, s:I, s:I, s:s, s:i, s:i, s:s, s:F, s:F, s:o}", "run", &run, "job_id",
                       &job_id, "restarts", &restarts, "outcome", &kind, "exit_code",
                       &outcome.exit_code, "signal", &outcome.signal, "message", &message,
                       "started", &outcome.started, "ended", &outcome.ended, "finals", &finals) < 0)
        return error_set(err, -EINVAL, "%s", where.text);
    int known = run_outcome_parse(kind);
    if (known <= OUTCOME_NONE || known == OUTCOME_LOST)
        return error_set(err, -EINVAL, "outcome is %s", kind);
    outcome.kind = (enum run_outcome)known;
    int cause = run_cause_parse(json_string_value(json_object_get(json, "cause")));
    outcome.cause = cause < 0 ? CAUSE_NONE : (enum run_cause)cause;
    outcome.run = run;
    outcome.job_id = job_id;
    const char *token = json_string_value(json_object_get(json, "token"));
    (void)snprintf(outcome.token, sizeof outcome.token, "%s", token ? token : "");
    outcome.restarts = (unsigned)restarts;
    outcome_set_message(&outcome, "%s", message);
    const json_t *step = json_object_get(json, "last_step");
    outcome.has_step = json_is_integer(step);
    outcome.last_step = json_integer_value(step);
    outcome.requeues = json_is_true(json_object_get(json, "requeues"));
    json_t *guard = json_object_get(json, "guard");
    outcome.guard = json_is_object(guard) ? json_incref(guard) : NULL;
    json_t *evidence = json_object_get(json, "evidence");
    outcome.evidence = json_is_object(evidence) ? json_incref(evidence) : NULL;
    json_t *failure = json_object_get(json, "failure");
    outcome.failure = json_is_object(failure) ? json_incref(failure) : NULL;
    outcome.finals = json_incref(finals);
    *ret_outcome = outcome;
    return 0;
}

bool outcome_is_of(const json_t *outcome, const char *token)
{
    const char *told = json_string_value(json_object_get(outcome, "token"));
    return !told || !token || !*told || !*token || text_equal(told, token);
}

int outcome_read(const char *run_dir, const char *token, struct outcome *ret_outcome,
                 struct error *err)
{
    json_t *json;
    int status = message_read(&json, err, "%s/outcome.json", run_dir);
    if (status == 0 && !outcome_is_of(json, token))
        status =
            error_set(err, -ESTALE,
                      "%s/outcome.json is passed over: a lead of another job has left it", run_dir);
    else if (status == 0 && (status = outcome_from_json(json, ret_outcome, err)) < 0)
        error_prefix(err, "cannot use %s/outcome.json", run_dir);
    json_decref(json);
    return status;
}

/* Whether a read failed because of the content of the file. A later read would fail, too. */
static bool outcome_is_unreadable(int status)
{
    return status == -EINVAL || status == -EFBIG;
}

bool outcome_is_there(const char *run_dir, const char *token)
{
    struct outcome outcome;
    int status = outcome_read(run_dir, token, &outcome, NULL);
    if (status == 0)
        outcome_fini(&outcome);
    return status == 0 || outcome_is_unreadable(status);
}

/* Returns 0 if the existing outcome.json may be replaced. -EEXIST: it must stay. */
static int outcome_gives_way(const struct outcome *outcome, const char *path, const char *run_dir,
                             const char *text, struct error *err)
{
    char *there = NULL;
    int status = file_read(path, MESSAGE_SIZE_MAX, &there, NULL, err);
    bool is_same = status == 0 && text_equal(there, text);
    free(there);
    if (is_same || status == -ENOENT)
        return 0; /* an earlier try has written this file, or the file is gone */
    if (outcome_is_unreadable(status))
        return 0;
    if (status < 0)
        return status;
    struct outcome other;
    status = outcome_read(run_dir, outcome->token, &other, err);
    if (status == 0) {
        outcome_fini(&other);
        return error_set(err, -EEXIST, "%s is there already", path);
    }
    return status == -ENOENT || status == -ESTALE || outcome_is_unreadable(status) ? 0 : status;
}

int outcome_write(const struct outcome *outcome, const char *run_dir, struct error *err)
{
    json_t *json = outcome_to_json(outcome);
    char *text = json_dumps(json, JSON_INDENT(1) | JSON_REAL_PRECISION(16));
    char *path = text_format("%s/outcome.json", run_dir);
    if (!text)
        abort();
    int status = file_create_once(path, text, strlen(text), 0600, err);
    /* If the file system cannot make a file once, two leads may both find no outcome, and both
     * write one. A run without an outcome would be worse. */
    if (status == -EEXIST || status == -EOPNOTSUPP) {
        status = outcome_gives_way(outcome, path, run_dir, text, err);
        if (status == 0)
            status = file_replace(path, text, strlen(text), 0600, err);
    }
    free(path);
    free(text);
    json_decref(json);
    return status;
}

int outcome_seal(const char *run_dir, int64_t run, enum run_outcome outcome, const char *message,
                 struct error *err)
{
    json_t *json = json_pack("{s:I, s:s, s:s}", "run", (json_int_t)run, "outcome",
                             run_outcome_name(outcome), "message", message);
    int status = message_replace(json, err, TOMBSTONE, run_dir);
    json_decref(json);
    return status;
}

bool outcome_is_sealed(const char *run_dir, struct error *err)
{
    char *path = text_format(TOMBSTONE, run_dir);
    bool is_sealed = access(path, F_OK) == 0;
    json_t *json;
    (void)message_read(&json, NULL, "%s", path); /* an unreadable tombstone counts, too */
    const char *outcome = json_string_value(json_object_get(json, "outcome"));
    const char *message = json_string_value(json_object_get(json, "message"));
    if (is_sealed)
        (void)error_set(err, -ECANCELED, "the daemon has declared this run over: %s%s%s",
                        outcome ? outcome : "ended", message && *message ? ", " : "",
                        message ? message : "");
    json_decref(json);
    free(path);
    return is_sealed;
}
