/* POST /v1/workflows: checks and resolves specs, makes workflows of the core, and answers when the
 * workflows are in the record. One request may have several specs: one transaction records all of
 * them, or none. */
#include "daemon/api/api_private.h"

#include "daemon/judge/judge.h"
#include "daemon/launch/launch.h"
#include "daemon/loop/loop.h"
#include "daemon/outlook/outlook.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "lib/units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SUBMISSIONS_MAX = 100, /* in one request: the daemon answers nobody while it resolves them */
};

/* One request: a single submission or a list. */
struct submit_batch {
    struct api *api;
    struct request *request;
    json_t *list;     /* the submissions, each complete */
    json_t *answers;  /* in the order of the list */
    json_t *problems; /* of the submissions that cannot be resolved */
    size_t bad_count; /* submissions that cannot be resolved */
    const char *bad_file;
    size_t bad_error_count; /* errors of the last bad submission */
    bool is_list;           /* the request was a list, so the answer is a list */
    bool is_answered;
    size_t waiting;    /* items that are not committed yet */
    size_t references; /* items, and the function that makes them */
};

/* A workflow of the core until it is committed. The item owns the data of its rows. */
struct submit_item {
    struct loop_item item;
    struct submit_item *next; /* in api->submitting */
    struct submit_batch *batch;
    size_t index;              /* in the list of the batch */
    struct workflow *workflow; /* owned by the item until it is posted, then by the core */
    json_t *body, *secrets, *resolved, *warnings;
    struct store_submission submission; /* borrows from the members above */
};

static void release_batch(struct submit_batch *batch)
{
    if (--batch->references > 0)
        return;
    json_decref(batch->list);
    json_decref(batch->answers);
    json_decref(batch->problems);
    free(batch);
}

/* --- Answers ---------------------------------------------------------------------------------- */

static void refuse_specs(struct submit_batch *batch)
{
    size_t count = json_array_size(batch->list), errors = batch->bad_error_count;
    const char *rest = count > 1 ? "; no workflow is queued" : "";
    char *message = batch->bad_count > 1 ? text_format("%zu of %zu files have problems%s",
                                                       batch->bad_count, count, rest)
                                         : text_format("%s has %zu problem%s%s", batch->bad_file,
                                                       errors, errors == 1 ? "" : "s", rest);
    request_reply_bad_spec(batch->request, message, batch->problems);
    batch->is_answered = true;
    free(message);
}

static json_t *added_json(uint64_t workflow, const char *name, json_t *warnings)
{
    return json_pack("{s:I, s:s, s:O}", "workflow", (json_int_t)workflow, "name", name, "warnings",
                     warnings);
}

/* Called when the last item is committed or has failed. */
static void answer_batch(struct submit_batch *batch)
{
    if (batch->waiting > 0 || batch->is_answered)
        return;
    batch->is_answered = true;
    request_reply_json(batch->request, 201,
                       batch->is_list ? json_pack("{s:O}", "workflows", batch->answers)
                                      : json_incref(json_array_get(batch->answers, 0)));
}

static void fail_batch(struct submit_batch *batch, const char *where, const struct error *err)
{
    if (!batch->is_answered)
        call_fail(batch->request, where, err);
    batch->is_answered = true;
}

/* --- The item --------------------------------------------------------------------------------- */

static int submit_write(struct loop_item *base, struct store *store, struct error *err)
{
    struct submit_item *item = (struct submit_item *)base;
    const struct home *home = loop_config(item->batch->api->config.loop)->home;
    int status = json_object_size(item->secrets)
                     ? launch_secrets_write(home, item->workflow->id, item->secrets, err)
                     : 0;
    return status < 0 ? status
                      : store_workflow_insert(store, item->workflow, &item->submission, err);
}

static void submit_done(struct loop_item *base, const struct error *failure)
{
    struct submit_item *item = (struct submit_item *)base;
    struct submit_batch *batch = item->batch;
    struct submit_item **at = &batch->api->submitting;
    while (*at != item)
        at = &(*at)->next;
    *at = item->next;
    batch->waiting--;
    if (failure) {
        fail_batch(batch, NULL, failure);
        return;
    }
    (void)json_array_set_new(batch->answers, item->index,
                             added_json(item->workflow->id, item->workflow->name, item->warnings));
    answer_batch(batch);
}

static void submit_free(void *context)
{
    struct submit_item *item = context;
    json_decref(item->body);
    json_decref(item->secrets);
    json_decref(item->resolved);
    json_decref(item->warnings);
    release_batch(item->batch);
    free(item);
}

static void post(struct submit_item *item)
{
    struct loop *loop = item->batch->api->config.loop;
    core_add(loop_core(loop), item->workflow);
    item->item.added = item->workflow;
    item->next = item->batch->api->submitting;
    item->batch->api->submitting = item;
    item->batch->waiting++;
    struct core_event event = {
        .kind = EV_ADDED,
        .workflow = item->workflow,
        .hold = json_is_true(json_object_get(item->body, "hold")),
        .message = json_string_value(json_object_get(item->body, "who")),
    };
    loop_post_item(loop, &item->item, &event);
}

/* --- The list --------------------------------------------------------------------------------- */

/* Members beside the list are defaults for all of its submissions. */
static int read_list(struct submit_batch *batch, json_t *body, struct error *err)
{
    json_t *list = json_object_get(body, "workflows"), *item;
    size_t index;
    batch->is_list = list != NULL;
    if (!list) {
        (void)json_array_append(batch->list, body);
        return 0;
    }
    if (!json_is_array(list) || json_array_size(list) == 0 ||
        json_array_size(list) > SUBMISSIONS_MAX)
        return error_set(err, -EINVAL, "`workflows` must be a list of 1 to %d submissions",
                         SUBMISSIONS_MAX);
    (void)json_array_extend(batch->list, list);
    (void)json_object_del(body, "workflows");
    json_array_foreach(batch->list, index, item)
    {
        if (!json_is_object(item))
            return error_set(err, -EINVAL, "`workflows` has a member that is not an object");
        (void)json_object_update_missing(item, body);
    }
    return 0;
}

static const char *key_of(const json_t *body)
{
    return json_string_value(json_object_get(body, "key"));
}

/* Two submissions of a list may not have the same key. */
static bool key_is_repeated(const struct submit_batch *batch, size_t index)
{
    const char *key = key_of(json_array_get(batch->list, index));
    for (size_t i = 0; key && i < index; i++)
        if (text_equal(key_of(json_array_get(batch->list, i)), key))
            return true;
    return false;
}

/* Handles a key that the daemon knows: the client did not get the first answer. Returns 1 if the
 * submission is answered. */
static int answer_again(struct submit_batch *batch, size_t index, struct error *err)
{
    struct loop *loop = batch->api->config.loop;
    const char *key = key_of(json_array_get(batch->list, index));
    struct workflow *workflow;
    uint64_t id;
    for (const struct submit_item *item = batch->api->submitting; key && item; item = item->next)
        if (text_equal(item->submission.key, key))
            return error_set(err, -EBUSY,
                             "the submission with the key %s is being recorded: ask again", key);
    int status = key ? store_find_key(loop_store(loop), key, &id, err) : -ENOENT;
    if (status == -ENOENT)
        return 0;
    if (status == 0)
        status = loop_workflow(loop, id, &workflow, err);
    if (status < 0)
        return status;
    json_t *warnings = json_array();
    (void)json_array_set_new(batch->answers, index, added_json(id, workflow->name, warnings));
    json_decref(warnings);
    return 1;
}

/* --- Specs ------------------------------------------------------------------------------------ */

/* NULL: the spec has problems, which are added to those of the batch. */
static json_t *resolve(struct submit_batch *batch, const json_t *body, json_t *warnings)
{
    const char *file = json_string_value(json_object_get(body, "file"));
    json_t *resolved = submission_resolve(body, batch->problems, warnings, &batch->bad_error_count);
    if (!resolved) {
        batch->bad_count++;
        batch->bad_file = *file ? file : "the workflow";
    }
    return resolved;
}

/* The client makes the copy of the code: the daemon may run on another machine. */
static int check_copy(const json_t *body, const json_t *resolved, struct error *err)
{
    const json_t *copy = json_object_get(json_object_get(body, "provenance"), "snapshot");
    if (json_object_get(resolved, "code") && !copy)
        return error_set(err, -EINVAL,
                         "code: snapshot needs `provenance.snapshot`, the path of the copy");
    return 0;
}

/* Reads when the jobs of the workflow may be submitted. */
static int read_queue(struct submit_batch *batch, const json_t *body, struct workflow *workflow,
                      struct error *err)
{
    const char *window = json_string_value(json_object_get(body, "window"));
    json_int_t after = json_integer_value(json_object_get(body, "after"));
    enum workflow_state state;
    workflow->priority = (int)json_integer_value(json_object_get(body, "priority"));
    if (window)
        (void)units_parse_window(window, &workflow->window_from, &workflow->window_to,
                                 err); /* submission_check() has checked it */
    if (after && store_workflow_state(loop_store(batch->api->config.loop), (uint64_t)after, &state,
                                      NULL, err) < 0)
        return error_set(err, -EINVAL, "`after`: there is no workflow %lld", (long long)after);
    workflow->after = (uint64_t)after;
    return 0;
}

/* Adds what is not part of the plan: the place in the queue, and results that can be reused. */
static int complete(struct submit_batch *batch, const json_t *body, json_t *resolved,
                    struct workflow *workflow, struct error *err)
{
    const struct api_config *config = &batch->api->config;
    int status = read_queue(batch, body, workflow, err);
    if (status < 0)
        return status;
    return judge_reuse(config->loop, resolved, body, workflow, err);
}

/* Makes an item that can be posted. *ret_item stays NULL if the spec has problems. */
static int make_item(struct submit_batch *batch, size_t index, struct submit_item **ret_item,
                     struct error *err)
{
    struct workflow *workflow;
    json_t *body = json_array_get(batch->list, index), *secrets;
    int status = submission_hide(body, &secrets, err);
    if (status < 0)
        return status;
    json_t *warnings = json_array(), *resolved = resolve(batch, body, warnings);
    status = resolved ? check_copy(body, resolved, err) : 0;
    if (resolved && status == 0)
        status = outlook_model(resolved, &workflow, err);
    if (resolved && status == 0 && (status = complete(batch, body, resolved, workflow, err)) < 0)
        workflow_free(workflow);
    if (!resolved || status < 0) {
        json_decref(secrets);
        json_decref(warnings);
        json_decref(resolved);
        return status;
    }
    struct submit_item *item = xcalloc(1, sizeof *item);
    *item = (struct submit_item){
        .item = {.write = submit_write, .done = submit_done, .free = submit_free},
        .batch = batch,
        .index = index,
        .workflow = workflow,
        .body = json_incref(body),
        .secrets = secrets,
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
                .key = key_of(body),
                .provenance = json_object_get(body, "provenance"),
            },
    };
    batch->references++;
    *ret_item = item;
    return 0;
}

/* --- The request ------------------------------------------------------------------------------ */

/* Prepares one submission of the list. Records nothing. */
static int prepare_submission(struct submit_batch *batch, size_t index,
                              struct submit_item **ret_item, struct error *err)
{
    json_t *body = json_array_get(batch->list, index);
    int status = submission_check(body, err);
    if (status == 0 && key_is_repeated(batch, index))
        status = error_set(err, -EINVAL, "another submission in the list has the same `key`");
    if (status == 0)
        status = answer_again(batch, index, err);
    if (status != 0)
        return status;
    submission_fill(body);
    return make_item(batch, index, ret_item, err);
}

/* Prepares all submissions before it posts the first. */
static void submit_list(struct submit_batch *batch)
{
    struct error err;
    size_t count = json_array_size(batch->list);
    struct submit_item **items = xcalloc(count, sizeof(struct submit_item *));
    for (size_t i = 0; i < count && !batch->is_answered; i++) {
        char where[32];
        (void)snprintf(where, sizeof where, "workflows[%zu]", i);
        (void)json_array_append_new(batch->answers, json_null());
        if (prepare_submission(batch, i, &items[i], &err) < 0)
            fail_batch(batch, batch->is_list ? where : NULL, &err);
    }
    if (!batch->is_answered && batch->bad_count > 0)
        refuse_specs(batch);
    for (size_t i = 0; i < count; i++) {
        if (items[i] && batch->is_answered) {
            workflow_free(items[i]->workflow);
            submit_free(items[i]);
        } else if (items[i]) {
            post(items[i]);
        }
    }
    answer_batch(batch);
    free(items);
}

void submit_post(struct call *call)
{
    struct error err;
    if (!call_can_record(call))
        return;
    json_t *body = call_body(call);
    if (!body)
        return;
    struct submit_batch *batch = xcalloc(1, sizeof *batch);
    *batch = (struct submit_batch){
        .api = call->api,
        .request = call->request,
        .list = json_array(),
        .answers = json_array(),
        .problems = json_array(),
        .references = 1,
    };
    if (read_list(batch, body, &err) < 0)
        fail_batch(batch, NULL, &err);
    else
        submit_list(batch);
    release_batch(batch);
    json_decref(body);
}
