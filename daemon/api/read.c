/* Read-only requests of people: the record, and the daemon itself. */
#include "daemon/api/inside.h"

#include "daemon/admission/admission.h"
#include "daemon/api/exposition.h"
#include "daemon/judge/judge.h"
#include "daemon/launch/launch.h"
#include "daemon/loop/loop.h"
#include "daemon/store/answers.h"
#include "lib/error.h"
#include "lib/home.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    RUNS_MAX = 1000, /* in an answer of GET /v1/runs about all workflows */
    METRIC_NAMES_MAX = 256,
    BUCKETS_MAX = 10000,
};

static struct store *store_of(const struct call *call)
{
    return loop_store(call->api->config.loop);
}

void read_ping(struct call *call)
{
    const struct api_config *config = &call->api->config;
    const struct loop_cluster_status *cluster = loop_cluster_status(config->loop);
    json_t *json = json_pack("{s:s, s:i, s:s, s:f, s:{s:s, s:b, s:s}}", "version", config->version,
                             "pid", (int)getpid(), "home", config->home->path, "started",
                             (double)config->started_ms / 1000, "cluster", "name", cluster->name,
                             "answering", (int)cluster->is_answering, "message", cluster->message);
    const char *trouble = loop_trouble(config->loop);
    if (trouble)
        (void)json_object_set_new(json, "trouble", json_string(trouble));
    request_reply_json(call->request, 200, json);
}

/* Adds `job_turn` or `job_start` to a run that waits. The record does not have them: they change
 * whenever another job starts. */
static void add_wait(struct loop *loop, json_t *json)
{
    const char *state = json_string_value(json_object_get(json, "job_state"));
    uint64_t id = (uint64_t)json_integer_value(json_object_get(json, "run"));
    const struct run *run = id && !state ? loop_run(loop, id) : NULL;
    unsigned turn =
        run && run->seat->allocation ? admission_turn(loop, run->seat->allocation->id) : 0;
    if (turn)
        (void)json_object_set_new(json, "job_turn", json_integer(turn));
    if (!state || !text_equal(state, "pending"))
        return;
    json_int_t job = json_integer_value(json_object_get(json, "job_id"));
    int64_t start_s = launch_expected_start(loop, (uint32_t)job);
    if (start_s)
        (void)json_object_set_new(json, "job_start", json_integer(start_s));
}

/* add_wait() for all runs in a workflow, phase or run. */
static void add_waits(struct loop *loop, json_t *json)
{
    static const char *const lists[] = {"phases", "members", "runs"};
    json_t *item;
    size_t i;
    add_wait(loop, json);
    if (json_is_object(json_object_get(json, "run")))
        add_waits(loop, json_object_get(json, "run"));
    for (size_t list = 0; list < sizeof lists / sizeof lists[0]; list++)
        json_array_foreach(json_object_get(json, lists[list]), i, item) add_waits(loop, item);
}

struct list {
    struct text text;
    struct loop *loop;
};

static void list_take(json_t *workflow, void *context)
{
    struct list *list = context;
    add_waits(list->loop, workflow);
    text_add(&list->text, list->text.size ? "," : "{\"workflows\":[");
    reply_add_json(&list->text, workflow);
}

void read_workflows(struct call *call)
{
    uint64_t all, limit, brief;
    int64_t total = 0;
    struct error err;
    if (!call_number(call, "all", 0, &all) || !call_number(call, "limit", 0, &limit) ||
        !call_number(call, "brief", 0, &brief))
        return;
    struct list list = {.loop = call->api->config.loop};
    int status = answer_workflows(
        store_of(call), all ? ANSWER_ALL : ANSWER_RECENT, brief ? ANSWER_BRIEF : ANSWER_FULL,
        limit < INT32_MAX ? (unsigned)limit : 0, loop_now_ms(), list_take, &list, &total, &err);
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
    int status = answer_workflow(store_of(call), call->address.workflow, &json, &err);
    if (status == 0)
        add_waits(call->api->config.loop, json);
    call_answer(call, status, json, &err);
}

void read_source(struct call *call)
{
    json_t *json = NULL;
    struct error err;
    int status = answer_source(store_of(call), call->address.workflow, &json, &err);
    call_answer(call, status, json, &err);
}

void read_phase(struct call *call)
{
    json_t *json = NULL;
    struct error err;
    int status =
        answer_phase(store_of(call), call->address.workflow, call->address.phase, &json, &err);
    if (status == 0)
        add_waits(call->api->config.loop, json);
    call_answer(call, status, json, &err);
}

void read_run(struct call *call)
{
    json_t *json = NULL;
    struct error err;
    int status = answer_run(store_of(call), call->address.workflow, call->address.phase,
                            call->address.attempt, &json, &err);
    if (status == 0)
        add_waits(call->api->config.loop, json);
    call_answer(call, status, json, &err);
}

void read_runs(struct call *call)
{
    uint64_t workflow;
    json_t *json = NULL;
    struct error err;
    if (!call_number(call, "workflow", 0, &workflow))
        return;
    int status = answer_runs(store_of(call), workflow, RUNS_MAX, &json, &err);
    if (status == 0)
        add_waits(call->api->config.loop, json);
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
    json_t *verdicts = NULL;
    if (status == 0 && so_far)
        status = judge_so_far(call->api->config.loop, call->address.workflow, call->address.phase,
                              &verdicts, &err);
    if (verdicts)
        (void)json_object_set_new(json, "so_far", verdicts);
    if (status < 0)
        json_decref(json);
    call_answer(call, status, json, &err);
}

struct names {
    const char *items[METRIC_NAMES_MAX];
    size_t count;
};

static void names_add(const char *value, void *arg)
{
    struct names *names = arg;
    if (names->count < METRIC_NAMES_MAX)
        names->items[names->count++] = value;
}

void read_metrics(struct call *call)
{
    struct names names = {.count = 0};
    uint64_t last, buckets, run;
    json_t *json = NULL;
    struct error err;
    if (!call_number(call, "last", 0, &last) || !call_number(call, "buckets", 0, &buckets))
        return;
    request_query_each(call->request, "name", names_add, &names);
    int status = answer_run_id(store_of(call), call->address.workflow, call->address.phase,
                               call->address.attempt, &run, &err);
    if (status == 0)
        status =
            answer_metrics(store_of(call), run, names.items, names.count,
                           last < UINT32_MAX ? (unsigned)last : UINT32_MAX,
                           buckets < BUCKETS_MAX ? (unsigned)buckets : BUCKETS_MAX, &json, &err);
    call_answer(call, status, json, &err);
}

void read_gpus(struct call *call)
{
    uint64_t run;
    json_t *json = NULL;
    struct error err;
    int status = answer_run_id(store_of(call), call->address.workflow, call->address.phase,
                               call->address.attempt, &run, &err);
    if (status == 0)
        status = answer_gpus(store_of(call), run, &json, &err);
    call_answer(call, status, json, &err);
}

void read_exposition(struct call *call)
{
    struct error err;
    struct text text = {0};
    json_t *at_work;
    int status = answer_at_work(store_of(call), &at_work, &err);
    if (status < 0) {
        call_fail(call->request, NULL, &err);
        return;
    }
    exposition_write(at_work, loop_now_ms(), &text);
    json_decref(at_work);
    size_t size = text.size;
    request_set_type(call->request, "text/plain; version=0.0.4; charset=utf-8");
    request_reply_take(call->request, 200, text_steal(&text), size);
}
