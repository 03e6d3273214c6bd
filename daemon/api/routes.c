/* Finds the handler for a method and a path: one table for people, one for workers. */
#include "daemon/api/api_private.h"

#include "lib/text.h"

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
    {"GET", "/v1/workflows/{workflow}/phases/{phase}/runs/{attempt}/logs", logs_get},
    {"GET", "/v1/workflows/{workflow}/phases/{phase}/runs/{attempt}/log", logs_read},
    {"POST", "/v1/workflows/{workflow}/budget", budget_post},
    {"POST", "/v1/workflows/{workflow}/{verb}", control_post},
    {"POST", "/v1/workflows/{workflow}/phases/{phase}/{verb}", control_post},
    {"GET", "/v1/runs", read_runs},
    {"GET", "/v1/costs", cost_get},
    {"GET", "/v1/nodes", nodes_get},
    {"POST", "/v1/nodes/{node}", nodes_post},
    {"DELETE", "/v1/nodes/{node}", nodes_delete},
    {"GET", "/v1/events", read_events},
    {"POST", "/v1/page", page_post},
    {"GET", "/metrics", read_exposition},
    {NULL, NULL, NULL},
};

static const struct route worker_routes[] = {
    {"POST", "/v1/worker/{run}/journal", worker_journal},
    {"GET", "/v1/worker/{run}/command", worker_command},
    {NULL, NULL, NULL},
};

/* --- Matching --------------------------------------------------------------------------------- */

static bool verb_parse(const char *text, size_t size, enum phase_command *ret_command)
{
    char verb[32];
    if (size >= sizeof verb)
        return false;
    memcpy(verb, text, size);
    verb[size] = '\0';
    int command = phase_command_parse(verb);
    if (command < 0)
        return false;
    *ret_command = (enum phase_command)command;
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
        return call_parse_number(text, size, INT64_MAX, &call->address.workflow) &&
               call->address.workflow > 0;
    if (text_starts(pattern, "{run}"))
        return call_parse_number(text, size, INT64_MAX, &call->run) && call->run > 0;
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
        if (!call_parse_number(text, size, UINT32_MAX, &number) || number == 0)
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

static bool is_of_worker(const struct request *request)
{
    return text_starts(request_path(request), "/v1/worker/");
}

void routes_handle_remote(struct request *request, void *context)
{
    struct api *api = context;
    if (is_of_worker(request))
        dispatch(worker_routes, request, api, NULL);
    else if (owner_admit(request, &api->key))
        dispatch(person_routes, request, api, NULL);
}

void routes_admit_remote(struct request *request, void *api)
{
    if (is_of_worker(request))
        dispatch(worker_routes, request, api, worker_look);
    else
        owner_look(request);
}
