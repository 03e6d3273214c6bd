/* Finds the handler for a method and a path: one table for people, one for workers. */
#include "daemon/api/inside.h"

#include "daemon/loop/loop.h"
#include "lib/error.h"
#include "lib/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct route {
    const char *method;
    const char *pattern; /* {workflow} {phase} {attempt} {run} {verb} {node} match one segment each
                          */
    call_handler *handle;
};

static const struct route person_routes[] = {
    {"GET", "/v1/ping", read_ping},
    {"POST", "/v1/workflows", submit_post},
    {"POST", "/v1/plan", plan_post},
    {"GET", "/v1/workflows", read_workflows},
    {"GET", "/v1/workflows/{workflow}", read_workflow},
    {"GET", "/v1/workflows/{workflow}/source", read_source},
    {"GET", "/v1/workflows/{workflow}/phases/{phase}", read_phase},
    {"GET", "/v1/workflows/{workflow}/phases/{phase}/gate", read_gate},
    {"GET", "/v1/workflows/{workflow}/phases/{phase}/runs/{attempt}", read_run},
    {"GET", "/v1/workflows/{workflow}/phases/{phase}/runs/{attempt}/metrics", read_metrics},
    {"GET", "/v1/workflows/{workflow}/phases/{phase}/runs/{attempt}/gpus", read_gpus},
    {"GET", "/v1/workflows/{workflow}/phases/{phase}/runs/{attempt}/logs", read_logs},
    {"POST", "/v1/workflows/{workflow}/budget", budget_post},
    {"POST", "/v1/workflows/{workflow}/{verb}", control_post},
    {"POST", "/v1/workflows/{workflow}/phases/{phase}/{verb}", control_post},
    {"GET", "/v1/runs", read_runs},
    {"GET", "/v1/costs", cost_get},
    {"GET", "/v1/nodes", nodes_get},
    {"POST", "/v1/nodes/{node}", nodes_post},
    {"DELETE", "/v1/nodes/{node}", nodes_delete},
    {"GET", "/v1/events", events_get},
    {"GET", "/metrics", read_exposition},
    {NULL, NULL, NULL},
};

static const struct route worker_routes[] = {
    {"POST", "/v1/worker/{run}/journal", worker_journal},
    {"GET", "/v1/worker/{run}/command", worker_command},
    {NULL, NULL, NULL},
};

/* --- Matching --------------------------------------------------------------------------------- */

static bool number_parse(const char *text, size_t size, uint64_t max, uint64_t *ret_number)
{
    uint64_t number = 0;
    if (size == 0 || size > 19)
        return false;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        number = number * 10 + (uint64_t)(text[i] - '0');
    }
    if (number > max)
        return false;
    *ret_number = number;
    return true;
}

static bool verb_parse(const char *text, size_t size, enum core_command *ret_command)
{
    char verb[32];
    if (size >= sizeof verb)
        return false;
    memcpy(verb, text, size);
    verb[size] = '\0';
    int command = core_command_parse(verb);
    if (command < 0)
        return false;
    *ret_command = (enum core_command)command;
    return true;
}

/* Compares one segment of the path with one segment of the pattern. */
static bool segment_matches(const char *pattern, size_t pattern_size, const char *text, size_t size,
                            struct call *call)
{
    uint64_t number;
    if (pattern[0] != '{')
        return size == pattern_size && memcmp(pattern, text, size) == 0;
    if (text_starts(pattern, "{workflow}"))
        return number_parse(text, size, INT64_MAX, &call->address.workflow) &&
               call->address.workflow > 0;
    if (text_starts(pattern, "{run}"))
        return number_parse(text, size, INT64_MAX, &call->run) && call->run > 0;
    if (text_starts(pattern, "{verb}"))
        return verb_parse(text, size, &call->command);
    if (text_starts(pattern, "{node}")) {
        if (size >= sizeof call->node)
            return false;
        memcpy(call->node, text, size);
        call->node[size] = '\0';
        return size > 0;
    }
    if (text_starts(pattern, "{attempt}")) {
        if (!number_parse(text, size, UINT32_MAX, &number) || number == 0)
            return false;
        call->address.attempt = (uint32_t)number;
        return true;
    }
    if (size == 0 || size >= sizeof call->address.phase)
        return false;
    memcpy(call->address.phase, text, size);
    call->address.phase[size] = '\0';
    return true;
}

static bool route_matches(const struct route *route, const char *path, struct call *call)
{
    const char *pattern = route->pattern;
    while (*pattern == '/' && *path == '/') {
        size_t pattern_size = strcspn(++pattern, "/"), size = strcspn(++path, "/");
        if (!segment_matches(pattern, pattern_size, path, size, call))
            return false;
        pattern += pattern_size;
        path += size;
    }
    return !*pattern && !*path;
}

/* Calls the handler of the route, or `instead` if that is not NULL. */
static void dispatch(const struct route *routes, struct request *request, struct api *api,
                     call_handler *instead)
{
    const char *method = request_method(request), *path = request_path(request);
    bool is_known = false;
    for (const struct route *route = routes; route->method; route++) {
        struct call call = {.api = api, .request = request};
        if (!route_matches(route, path, &call))
            continue;
        is_known = true;
        if (!text_equal(route->method, method))
            continue;
        if (call.address.workflow)
            (void)address_text(&call.address, call.text);
        (instead ? instead : route->handle)(&call);
        return;
    }
    if (is_known)
        request_reply_error(request, API_BAD_METHOD, path, "%s does not take %s", path, method);
    else
        request_reply_error(request, API_NOT_FOUND, path, "there is no %s %s", method, path);
}

void routes_handle_person(struct request *request, void *api)
{
    dispatch(person_routes, request, api, NULL);
}

void routes_handle_worker(struct request *request, void *api)
{
    dispatch(worker_routes, request, api, NULL);
}

void routes_admit_worker(struct request *request, void *api)
{
    dispatch(worker_routes, request, api, worker_look);
}

/* --- For all handlers ------------------------------------------------------------------------- */

void call_fail(struct request *request, const char *where, const struct error *err)
{
    enum api_error error = API_INTERNAL;
    switch (err->code) {
    case -ENOENT:
        error = API_NOT_FOUND;
        break;
    case -EINVAL:
        error = API_BAD_REQUEST;
        break;
    case -ENOSPC:
    case -EDQUOT:
    case -EROFS:
    case -EBUSY:
    case -EIO:
    case -EUCLEAN:
        error = API_UNAVAILABLE;
        break;
    default:
        break;
    }
    request_reply_error(request, error, where && *where ? where : NULL, "%s", err->message);
}

void call_answer(struct call *call, int status, json_t *json, const struct error *err)
{
    if (status < 0)
        call_fail(call->request, call->text, err);
    else
        request_reply_json(call->request, 200, json);
}

json_t *call_body(struct call *call)
{
    size_t size;
    json_error_t failure;
    const char *body = request_body(call->request, &size);
    if (size == 0)
        return json_object();
    json_t *json = json_loadb(body, size, 0, &failure);
    if (json && !json_is_object(json)) {
        json_decref(json);
        json = NULL;
        (void)snprintf(failure.text, sizeof failure.text, "not an object");
    }
    if (!json)
        request_reply_error(call->request, API_BAD_REQUEST, NULL, "the body is not JSON: %s",
                            failure.text);
    return json;
}

bool call_number(struct call *call, const char *name, uint64_t otherwise, uint64_t *ret_number)
{
    const char *text = request_query(call->request, name);
    if (!text) {
        *ret_number = otherwise;
        return true;
    }
    if (number_parse(text, strlen(text), INT64_MAX, ret_number))
        return true;
    request_reply_error(call->request, API_BAD_REQUEST, name, "not a number: %s", text);
    return false;
}

bool call_can_record(struct call *call)
{
    const char *trouble = loop_trouble(call->api->config.loop);
    if (trouble)
        request_reply_error(call->request, API_UNAVAILABLE, NULL,
                            "the record cannot be written: %s", trouble);
    return !trouble;
}
