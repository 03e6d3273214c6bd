/* POST /v1/workflows: a spec is checked and resolved, becomes a workflow of the core, and is
 * answered when it is in the record. */
#include "daemon/api/inside.h"

#include "daemon/api/plan.h"
#include "daemon/loop/loop.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/spec/spec.h"
#include "lib/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_DIGITS = 32 };

/* A workflow that is posted and not yet committed; owns what its rows are made of. */
struct submit_item {
    struct loop_item item;
    struct submit_item *next; /* in api->submitting */
    struct api *api;
    struct request *request;
    struct workflow *workflow; /* the core's */
    json_t *body, *resolved, *warnings;
    struct store_submission submission; /* borrows from the above */
};

/* --- Answers ------------------------------------------------------------------------------------
 */

static json_t *problem_json(const struct spec_problem *problem, const char *file)
{
    return json_pack("{s:s?, s:I, s:I, s:s, s:s, s:s}", "file", file, "line",
                     (json_int_t)problem->line, "column", (json_int_t)problem->column, "path",
                     problem->path ? problem->path : "", "message", problem->message, "severity",
                     problem->severity == SPEC_ERROR ? "error" : "warning");
}

static json_t *problems_json(const struct spec_problems *problems)
{
    json_t *list = json_array();
    for (size_t i = 0; i < problems->count; i++) {
        json_t *problem = problem_json(&problems->items[i], problems->file);
        /* A message may quote a file that is not UTF-8. */
        (void)json_array_append_new(list, problem ? problem : json_null());
    }
    return list;
}

static void refuse_spec(struct request *request, const char *file,
                        const struct spec_problems *problems)
{
    char *message = text_format("%s has %zu problem%s", file && *file ? file : "the workflow",
                                problems->error_count, problems->error_count == 1 ? "" : "s");
    json_t *json = api_error_json(API_BAD_SPEC, NULL, message);
    (void)json_object_set_new(json_object_get(json, "error"), "problems", problems_json(problems));
    request_reply_json(request, api_error_status(API_BAD_SPEC), json);
    free(message);
}

static void reply_added(struct request *request, uint64_t workflow, const char *name,
                        json_t *warnings)
{
    request_reply_json(request, 201,
                       json_pack("{s:I, s:s, s:O}", "workflow", (json_int_t)workflow, "name", name,
                                 "warnings", warnings));
}

/* --- The item -----------------------------------------------------------------------------------
 */

static int submit_write(struct loop_item *base, struct store *store, struct error *err)
{
    struct submit_item *item = (struct submit_item *)base;
    return store_workflow_insert(store, item->workflow, &item->submission, err);
}

static void submit_done(struct loop_item *base, const struct error *failure)
{
    struct submit_item *item = (struct submit_item *)base;
    struct submit_item **at = &item->api->submitting;
    while (*at != item)
        at = &(*at)->next;
    *at = item->next;
    if (failure)
        call_fail(item->request, NULL, failure);
    else
        reply_added(item->request, item->workflow->id, item->workflow->name, item->warnings);
}

static void submit_free(struct loop_item *base)
{
    struct submit_item *item = (struct submit_item *)base;
    json_decref(item->body);
    json_decref(item->resolved);
    json_decref(item->warnings);
    free(item);
}

/* --- The body -----------------------------------------------------------------------------------
 */

static const struct {
    const char *name;
    json_type type;
    bool is_required;
} members[] = {
    {"file", JSON_STRING, false},        {"spec", JSON_STRING, true},
    {"set", JSON_OBJECT, false},         {"workdir", JSON_STRING, true},
    {"environment", JSON_OBJECT, false}, {"umask", JSON_INTEGER, false},
    {"limits", JSON_ARRAY, false},       {"host", JSON_STRING, false},
    {"key", JSON_STRING, false},
};

static bool all_texts(const json_t *container)
{
    const char *name;
    json_t *value;
    size_t index;
    if (json_is_object(container)) {
        json_object_foreach((json_t *)container, name,
                            value) if (!json_is_string(value)) return false;
    } else {
        json_array_foreach(container, index, value) if (!json_is_string(value)) return false;
    }
    return true;
}

static int check_body(const json_t *body, struct error *err)
{
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const json_t *value = json_object_get(body, members[i].name);
        if (!value && members[i].is_required)
            return error_set(err, -EINVAL, "`%s` is missing", members[i].name);
        if (value && (json_typeof(value) != members[i].type || !all_texts(value)))
            return error_set(err, -EINVAL, "`%s` is not what it should be", members[i].name);
    }
    const char *key = json_string_value(json_object_get(body, "key"));
    if (key && !mac_is_hex(key, KEY_DIGITS))
        return error_set(err, -EINVAL, "`key` is not %d hexadecimal digits", KEY_DIGITS);
    const char *workdir = json_string_value(json_object_get(body, "workdir"));
    if (workdir[0] != '/')
        return error_set(err, -EINVAL, "`workdir` is not an absolute path: %s", workdir);
    json_int_t mask = json_integer_value(json_object_get(body, "umask"));
    if (mask < 0 || mask > 0777)
        return error_set(err, -EINVAL, "`umask` is none: %lld", (long long)mask);
    return 0;
}

/* The same key again: the client did not get the answer. True: answered. */
static bool answer_again(struct call *call, const char *key)
{
    struct store *store = loop_store(call->api->config.loop);
    struct workflow *workflow;
    uint64_t id;
    struct error err;
    for (const struct submit_item *item = call->api->submitting; key && item; item = item->next) {
        if (!text_equal(item->submission.key, key))
            continue;
        request_reply_error(call->request, API_UNAVAILABLE, key, "this is being recorded");
        return true;
    }
    if (!key || store_find_key(store, key, &id, &err) == -ENOENT)
        return false;
    if (loop_workflow(call->api->config.loop, id, &workflow, &err) < 0) {
        call_fail(call->request, key, &err);
        return true;
    }
    json_t *warnings = json_array();
    reply_added(call->request, id, workflow->name, warnings);
    json_decref(warnings);
    return true;
}

static json_t *resolve(struct call *call, const json_t *body, json_t **ret_warnings)
{
    const json_t *spec = json_object_get(body, "spec"), *set = json_object_get(body, "set");
    const char *file = json_string_value(json_object_get(body, "file"));
    size_t count = 0;
    char **texts = calloc(json_object_size(set) + 1, sizeof *texts);
    if (!texts)
        abort();
    const char *name;
    json_t *value, *resolved = NULL;
    json_object_foreach((json_t *)set, name, value) texts[count++] =
        text_format("%s=%s", name, json_string_value(value));
    struct spec_overrides overrides = {(const char *const *)texts, count};
    struct spec_problems problems = {0};
    if (spec_parse(file ? file : "workflow", json_string_value(spec), json_string_length(spec),
                   &overrides, &resolved, &problems) < 0) {
        refuse_spec(call->request, file, &problems);
        resolved = NULL;
    } else {
        *ret_warnings = problems_json(&problems);
    }
    spec_problems_fini(&problems);
    for (size_t i = 0; i < count; i++)
        free(texts[i]);
    free(texts);
    return resolved;
}

static void post(struct call *call, json_t *body, json_t *resolved, json_t *warnings,
                 struct workflow *workflow)
{
    struct submit_item *item = calloc(1, sizeof *item);
    if (!item)
        abort();
    core_add(loop_core(call->api->config.loop), workflow);
    *item = (struct submit_item){
        .item = {.write = submit_write,
                 .done = submit_done,
                 .free = submit_free,
                 .added = workflow},
        .next = call->api->submitting,
        .api = call->api,
        .request = call->request,
        .workflow = workflow,
        .body = json_incref(body),
        .resolved = resolved,
        .warnings = warnings,
        .submission =
            {
                .file = json_string_value(json_object_get(body, "file")),
                .spec = json_string_value(json_object_get(body, "spec")),
                .set = json_object_get(body, "set"),
                .resolved = resolved,
                .workdir = json_string_value(json_object_get(body, "workdir")),
                .environment = json_object_get(body, "environment"),
                .umask = (unsigned)json_integer_value(json_object_get(body, "umask")),
                .limits = json_object_get(body, "limits"),
                .host = json_string_value(json_object_get(body, "host")),
                .key = json_string_value(json_object_get(body, "key")),
            },
    };
    call->api->submitting = item;
    struct core_event event = {.kind = EV_ADDED,
                               .workflow = workflow,
                               .hold = json_is_true(json_object_get(body, "hold"))};
    loop_post_item(call->api->config.loop, &item->item, &event);
}

/* Members that may be left out stand there with their defaults from now on. */
static void fill_body(json_t *body)
{
    if (!json_object_get(body, "umask"))
        (void)json_object_set_new(body, "umask", json_integer(022));
    if (!json_object_get(body, "environment"))
        (void)json_object_set_new(body, "environment", json_object());
    if (!json_object_get(body, "limits"))
        (void)json_object_set_new(body, "limits", json_array());
    if (!json_object_get(body, "file"))
        (void)json_object_set_new(body, "file", json_string("workflow"));
}

void submit_post(struct call *call)
{
    struct error err;
    json_t *resolved, *warnings = NULL;
    if (!call_can_record(call))
        return;
    json_t *body = call_body(call);
    if (!body)
        return;
    if (check_body(body, &err) < 0) {
        call_fail(call->request, NULL, &err);
        goto out;
    }
    if (answer_again(call, json_string_value(json_object_get(body, "key"))))
        goto out;
    fill_body(body);
    resolved = resolve(call, body, &warnings);
    if (!resolved)
        goto out;
    struct workflow *workflow;
    if (plan_workflow(resolved, &workflow, &err) < 0) {
        call_fail(call->request, NULL, &err);
        json_decref(resolved);
        json_decref(warnings);
        goto out;
    }
    post(call, body, resolved, warnings, workflow);
out:
    json_decref(body);
}
