/* Writes and reads the outcome of a run. */
#include "lib/protocol/outcome.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/json.h"
#include "lib/memory.h"
#include "lib/protocol/members.h"
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

static const struct member outcome_members[] = {
    MEMBER(outcome, run, REQUIRED),
    MEMBER(outcome, job_id, REQUIRED),
    MEMBER(outcome, token, OR_NULL),
    MEMBER(outcome, restarts, REQUIRED),
    MEMBER_OF_WORDS(outcome, kind, "outcome", REQUIRED, run_outcome_names, OUTCOME_COUNT,
                    OUTCOME_NONE),
    MEMBER_OF_WORDS(outcome, cause, "cause", OR_NULL, run_cause_names, CAUSE_COUNT, CAUSE_NONE),
    MEMBER(outcome, exit_code, REQUIRED),
    MEMBER(outcome, signal, REQUIRED),
    MEMBER(outcome, message, REQUIRED),
    MEMBER(outcome, node, OR_NULL),
    MEMBER(outcome, guard, OR_NULL),
    MEMBER(outcome, evidence, OR_NULL),
    MEMBER(outcome, failure, OR_NULL),
    MEMBER(outcome, started, REQUIRED),
    MEMBER(outcome, ended, REQUIRED),
    MEMBER(outcome, finals, REQUIRED),
    MEMBER_OR(outcome, last_step, OR_NULL, -1),
    MEMBER(outcome, requeues, ALWAYS),
    {0},
};

static const struct member told_failure_members[] = {
    MEMBER(told_failure, name, ALWAYS),
    MEMBER(told_failure, line, ALWAYS),
    MEMBER_OR(told_failure, rank, OR_NULL, -1),
    MEMBER(told_failure, node, OR_NULL),
    MEMBER(told_failure, advice, ALWAYS),
    MEMBER_OF_WORDS(told_failure, blame, "blame", ALWAYS, failure_blame_names, BLAME_COUNT,
                    BLAME_COUNT),
    {0},
};

/* tombstone.json */
struct tombstone {
    int64_t run;
    const char *outcome, *message;
};

static const struct member tombstone_members[] = {
    MEMBER(tombstone, run, REQUIRED),
    MEMBER(tombstone, outcome, REQUIRED),
    MEMBER(tombstone, message, ALWAYS),
    {0},
};

void outcome_init(struct outcome *outcome, int64_t run)
{
    *outcome = (struct outcome){
        .run = run, .kind = OUTCOME_SUCCEEDED, .last_step = -1, .finals = json_object()};
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
    text_make_utf8(outcome->message);
}

void outcome_blame(struct outcome *outcome, const char *complaint)
{
    static const char *const before[] = {"Node failure on ", " failed on node "};
    assert(complaint);
    /* Such as "n1: task 0: Aborted". After "Killed" the node is not blamed, because a person or the
     * OOM killer has sent SIGKILL. */
    bool is_of_task = strstr(complaint, ": task ") && !text_ends(complaint, ": Killed");
    const char *name = is_of_task ? complaint : NULL;
    for (size_t i = 0; i < sizeof before / sizeof before[0] && !name; i++) {
        const char *found = strstr(complaint, before[i]);
        name = found ? found + strlen(before[i]) : NULL;
    }
    size_t size = name ? strspn(name, TEXT_NODE_CHARACTERS) : 0;
    if (size == 0 || size >= sizeof outcome->node || (name[size] && name[size] != ':'))
        return; /* no name, or several nodes, of which any may have failed first */
    (void)snprintf(outcome->node, sizeof outcome->node, "%.*s", (int)size, name);
}

json_t *outcome_to_json(const struct outcome *outcome)
{
    json_t *json = members_write(outcome_members, outcome, NULL);
    if (!json)
        abort(); /* all texts are UTF-8 */
    return json;
}

struct outcome outcome_view(const json_t *json)
{
    struct outcome outcome;
    members_read(outcome_members, json, &outcome);
    return outcome;
}

MEMBERS_READ(told_failure)
MEMBERS_TO_JSON(told_failure)

static json_t *outcome_object(json_t *json)
{
    return json_is_object(json) ? json_incref(json) : NULL;
}

int outcome_from_json(const json_t *json, struct outcome *ret_outcome, struct error *err)
{
    struct outcome outcome = outcome_view(json);
    int status = members_check(outcome_members, json, err);
    if (status == 0 && (outcome.kind == OUTCOME_NONE || outcome.kind == OUTCOME_LOST))
        status = error_set(err, -EINVAL, "outcome is %s", run_outcome_name(outcome.kind));
    if (status < 0)
        return status;
    outcome.guard = outcome_object(outcome.guard);
    outcome.evidence = outcome_object(outcome.evidence);
    outcome.failure = outcome_object(outcome.failure);
    json_incref(outcome.finals);
    *ret_outcome = outcome;
    return 0;
}

bool outcome_is_of(const struct outcome *outcome, const char *token)
{
    return !token || !*token || !*outcome->token || text_equal(outcome->token, token);
}

int outcome_read(const char *run_dir, const char *token, struct outcome *ret_outcome,
                 struct error *err)
{
    json_t *json;
    int status = message_read(&json, err, "%s/outcome.json", run_dir);
    struct outcome told = outcome_view(json);
    if (status == 0 && !outcome_is_of(&told, token))
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
    file_look_again(run_dir); /* a lead on another node writes it */
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
    if (is_same || status == -ENOENT || outcome_is_unreadable(status))
        return 0; /* an earlier try has written this file, or the file is gone or cannot be read */
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
    char *text = json_text(json, JSON_INDENT(1) | JSON_REAL_PRECISION(16));
    char *path = text_format("%s/outcome.json", run_dir);
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
    char *plain = xstrdup(message);
    text_make_utf8(plain);
    const struct tombstone tombstone = {run, run_outcome_name(outcome), plain};
    json_t *json = members_write(tombstone_members, &tombstone, NULL);
    int status = message_replace(json, err, TOMBSTONE, run_dir);
    json_decref(json);
    free(plain);
    return status;
}

bool outcome_is_sealed(const char *run_dir, struct error *err)
{
    char *path = text_format(TOMBSTONE, run_dir);
    file_look_again(run_dir); /* the daemon runs on another node */
    bool is_sealed = access(path, F_OK) == 0;
    json_t *json;
    (void)message_read(&json, NULL, "%s", path); /* an unreadable tombstone counts, too */
    struct tombstone tombstone;
    members_read(tombstone_members, json, &tombstone);
    const char *outcome = tombstone.outcome, *message = tombstone.message;
    if (is_sealed)
        (void)error_set(err, -ECANCELED, "the daemon has declared this run over: %s%s%s",
                        outcome ? outcome : "ended", message && *message ? ", " : "",
                        message ? message : "");
    json_decref(json);
    free(path);
    return is_sealed;
}
