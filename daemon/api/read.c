/* Read-only requests of people: the record, and the daemon itself. */
#include "daemon/api/api_private.h"

#include "daemon/api/can.h"
#include "daemon/api/exposition.h"
#include "daemon/api/waits.h"
#include "daemon/judge/judge.h"
#include "daemon/loop/loop.h"
#include "daemon/store/answers.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/home.h"
#include "lib/text.h"

#include <stdlib.h>
#include <unistd.h>

enum {
    RUNS_MAX = 1000,         /* in an answer of GET /v1/runs about all workflows */
    RUNS_OF_ONE_MAX = 10000, /* about one workflow */
    METRIC_NAMES_MAX = 256,
    BUCKETS_MAX = 10000,
    METRIC_ROWS_MAX = 50000, /* that are read for an answer with buckets */
    PARTS_MAX = 200,         /* of the history of GPUs */
    EVENTS_MAX = 1000,       /* in an answer; the client asks again from the last event */
};

static struct store *store_of(const struct call *call)
{
    return loop_store(call->api->config.loop);
}

void read_ping(struct call *call)
{
    const struct api_config *config = &call->api->config;
    const struct loop_cluster_state *cluster = loop_cluster_state(config->loop);
    char user[HOME_USER_SIZE];
    uint64_t last = 0;
    struct error err;
    (void)answer_last_event(store_of(call), &last, &err); /* a daemon in trouble answers, too */
    json_t *json = json_pack(
        "{s:s, s:i, s:s, s:f, s:s, s:I, s:{s:s, s:b, s:s}}", "version", config->version, "pid",
        (int)getpid(), "home", config->home->path, "started", (double)config->started_ms / 1000,
        "user", home_user(geteuid(), user), "last", (json_int_t)last, "cluster", "name",
        cluster->name, "answering", (int)cluster->is_answering, "message", cluster->message);
    const char *trouble = loop_trouble(config->loop);
    if (trouble) {
        (void)json_object_set_new(json, "trouble", json_string(trouble));
        (void)json_object_set_new(json, "trouble_since",
                                  json_real((double)loop_trouble_since_ms(config->loop) / 1000));
    }
    if (config->job)
        (void)json_object_set_new(json, "job", json_string(config->job));
    request_reply_json(call->request, 200, json);
}

/* Adds what a person may do with the phases of the call's workflow. */
static int add_can(const struct call *call, json_t *json, struct error *err)
{
    const struct workflow *live =
        core_workflow(loop_core(call->api->config.loop), call->address.workflow);
    struct workflow *ended = NULL;
    int status =
        live ? 0 : store_load_workflow(store_of(call), call->address.workflow, &ended, err);
    if (status == 0)
        can_add(call->api->config.loop, live ? live : ended, json);
    workflow_free(ended);
    return status;
}

struct list {
    struct text text;
    struct loop *loop;
};

static void list_take(json_t *workflow, void *context)
{
    struct list *list = context;
    uint64_t id = (uint64_t)json_integer_value(json_object_get(workflow, "workflow"));
    const struct workflow *live = core_workflow(loop_core(list->loop), id);
    waits_add(list->loop, workflow);
    if (live && !workflow_is_final(live)) /* loading workflows that have ended takes long */
        can_add(list->loop, live, workflow);
    text_add(&list->text, list->text.size ? "," : "{\"workflows\":[");
    reply_add_json(&list->text, workflow);
}

void read_workflows(struct call *call)
{
    uint64_t all, limit, brief, before;
    int64_t total = 0;
    struct error err;
    if (!call_number(call, "all", 0, &all) || !call_number(call, "limit", 0, &limit) ||
        !call_number(call, "brief", 0, &brief) || !call_number(call, "before", 0, &before))
        return;
    struct list list = {.loop = call->api->config.loop};
    const struct answer_list wanted = {
        .scope = all ? ANSWER_ALL : ANSWER_RECENT,
        .detail = brief ? ANSWER_BRIEF : ANSWER_FULL,
        .limit = limit < INT32_MAX ? (unsigned)limit : 0,
        .before = before,
        .state = request_query(call->request, "state"),
        .words = request_query(call->request, "words"),
    };
    int status =
        answer_workflows(store_of(call), &wanted, loop_now_ms(), list_take, &list, &total, &err);
    if (status < 0) {
        call_answer(call, status, NULL, &err);
    } else {
        text_addf(&list.text, "%s],\"total\":%lld}", list.text.size ? "" : "{\"workflows\":[",
                  (long long)total);
        size_t size = list.text.size;
        request_reply_take(call->request, 200, text_steal(&list.text), size);
    }
    text_fini(&list.text);
}

void read_workflow(struct call *call)
{
    json_t *json = NULL;
    struct error err;
    int status = answer_workflow(store_of(call), call->address.workflow, ANSWER_FULL, &json, &err);
    if (status == 0)
        status = add_can(call, json, &err);
    if (status == 0)
        waits_add(call->api->config.loop, json);
    call_answer(call, status, json, &err);
}

void read_source(struct call *call)
{
    json_t *json = NULL;
    struct error err;
    int status = answer_source(store_of(call), call->address.workflow, &json, &err);
    call_answer(call, status, json, &err);
}

/* Adds what judge_so_far() finds in the call's phase. */
static int add_so_far(const struct call *call, bool is_matrix, json_t *json, struct error *err)
{
    json_t *so_far = NULL;
    int status = judge_so_far(call->api->config.loop, call->address.workflow, call->address.phase,
                              is_matrix, &so_far, err);
    if (so_far)
        (void)json_object_set_new(json, "so_far", so_far);
    return status;
}

void read_phase(struct call *call)
{
    json_t *json = NULL;
    struct error err;
    uint64_t so_far;
    if (!call_number(call, "so_far", 0, &so_far))
        return;
    int status =
        answer_phase(store_of(call), call->address.workflow, call->address.phase, &json, &err);
    if (status == 0 && so_far)
        status = add_so_far(call, true, json, &err);
    if (status == 0)
        status = add_can(call, json, &err);
    if (status == 0)
        waits_add(call->api->config.loop, json);
    call_answer(call, status, json, &err);
}

void read_run(struct call *call)
{
    json_t *json = NULL;
    struct error err;
    int status = answer_run(store_of(call), call->address.workflow, call->address.phase,
                            call->address.attempt, &json, &err);
    if (status == 0)
        waits_add(call->api->config.loop, json);
    call_answer(call, status, json, &err);
}

void read_runs(struct call *call)
{
    uint64_t workflow, at_work;
    json_t *json = NULL;
    struct error err;
    if (!call_number(call, "workflow", 0, &workflow) || !call_number(call, "at_work", 0, &at_work))
        return;
    unsigned most = workflow ? RUNS_OF_ONE_MAX : RUNS_MAX;
    int status = at_work ? answer_runs_at_work(store_of(call), &json, &err)
                         : answer_runs(store_of(call), workflow, most + 1, &json, &err);
    json_t *runs = json_object_get(json, "runs");
    if (status == 0 && !at_work && json_array_remove(runs, most) == 0) /* there are more */
        (void)json_object_set_new(json, "more", json_true());
    if (status == 0)
        waits_add(call->api->config.loop, json);
    call_answer(call, status, json, &err);
}

void read_gate(struct call *call)
{
    json_t *json = NULL;
    struct error err;
    uint64_t so_far;
    if (!call_number(call, "so_far", 0, &so_far))
        return;
    int status =
        answer_gate(store_of(call), call->address.workflow, call->address.phase, &json, &err);
    if (status == 0 && so_far)
        status = add_so_far(call, false, json, &err);
    call_answer(call, status, json, &err);
}

void read_metrics(struct call *call)
{
    const char *names[METRIC_NAMES_MAX];
    uint64_t last, buckets, from, to, run;
    json_t *json = NULL;
    struct error err;
    if (!call_number(call, "last", 0, &last) || !call_number(call, "buckets", 0, &buckets) ||
        !call_number(call, "from", UINT64_MAX, &from) || !call_number(call, "to", INT64_MAX, &to))
        return;
    const struct answer_range range = {
        .last = last < UINT32_MAX ? (unsigned)last : UINT32_MAX,
        .buckets = buckets < BUCKETS_MAX ? (unsigned)buckets : BUCKETS_MAX,
        .from = from <= INT64_MAX ? (int64_t)from : INT64_MIN,
        .to = (int64_t)to,
        .rows = METRIC_ROWS_MAX,
    };
    size_t name_count = request_query_all(call->request, "name", names, METRIC_NAMES_MAX);
    int status = answer_run_id(store_of(call), call->address.workflow, call->address.phase,
                               call->address.attempt, &run, &err);
    if (status == 0)
        status = answer_metrics(store_of(call), run, names, name_count, &range, &json, &err);
    call_answer(call, status, json, &err);
}

void read_gpus(struct call *call)
{
    uint64_t run, parts;
    json_t *json = NULL, *history = NULL;
    struct error err;
    if (!call_number(call, "parts", 0, &parts))
        return;
    int status = answer_run_id(store_of(call), call->address.workflow, call->address.phase,
                               call->address.attempt, &run, &err);
    if (status == 0)
        status = answer_gpus(store_of(call), run, &json, &err);
    if (status == 0 && parts)
        status = answer_gpu_history(
            store_of(call), run, parts < PARTS_MAX ? (unsigned)parts : PARTS_MAX, &history, &err);
    if (history)
        (void)json_object_set_new(json, "history", history);
    call_answer(call, status, json, &err);
}

static void exposition_take(json_t *workflow, void *context)
{
    exposition_add_workflow(context, workflow);
    json_decref(workflow);
}

void read_exposition(struct call *call)
{
    struct error err;
    struct text text = {0};
    struct exposition_workflows workflows = {0};
    const struct answer_list recent = {.scope = ANSWER_RECENT, .detail = ANSWER_BRIEF};
    json_t *at_work = NULL;
    int64_t now_ms = loop_now_ms(), total;
    int status = answer_at_work(store_of(call), &at_work, &err);
    if (status == 0)
        status = answer_workflows(store_of(call), &recent, now_ms, exposition_take, &workflows,
                                  &total, &err);
    if (status == 0)
        exposition_write(at_work, now_ms, &text);
    exposition_write_workflows(&workflows, &text);
    json_decref(at_work);
    if (status < 0) {
        call_fail(call->request, NULL, &err);
        text_fini(&text);
        return;
    }
    size_t size = text.size;
    request_set_type(call->request, "text/plain; version=0.0.4; charset=utf-8");
    request_reply_take(call->request, 200, text_steal(&text), size);
}

/* --- Events: a long poll ---------------------------------------------------------------------- */

bool read_events_answer(void *context, const struct waiter *waiter, bool is_over)
{
    struct api *api = context;
    json_t *json;
    struct error err;
    if (answer_events(loop_store(api->config.loop), waiter->after, waiter->id, EVENTS_MAX, &json,
                      &err) < 0) {
        call_fail(waiter->request, NULL, &err);
        return true;
    }
    if (!is_over && json_array_size(json_object_get(json, "events")) == 0) {
        json_decref(json);
        return false;
    }
    request_reply_json(waiter->request, 200, json);
    return true;
}

void read_events(struct call *call)
{
    struct waiter waiter = {.request = call->request};
    uint64_t wait_s;
    if (call_number(call, "after", 0, &waiter.after) &&
        call_number(call, "workflow", 0, &waiter.id) &&
        call_number(call, "wait", WAIT_MAX_S, &wait_s))
        waiters_add(&call->api->events, &waiter, wait_s < WAIT_MAX_S ? wait_s : WAIT_MAX_S);
}
