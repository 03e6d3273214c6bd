/* POST /v1/plan: says what would happen to a submission. Nothing is recorded. */
#include "daemon/api/api_private.h"

#include "daemon/outlook/outlook.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/memory.h"

#include <stdlib.h>

/* A request that waits for the cluster. */
struct plan_call {
    struct api *api;
    struct request *request; /* the API answers it if it closes first */
    json_t *warnings;        /* about the spec */
};

static void plan_free(struct plan_call *plan)
{
    call_release_api(plan->api);
    json_decref(plan->warnings);
    free(plan);
}

static void plan_done(void *context, json_t *json, const struct error *err)
{
    struct plan_call *plan = context;
    if (!plan->api->is_closing && json) {
        (void)json_object_set(json, "warnings", plan->warnings);
        request_reply_json(plan->request, 200, json_incref(json));
    } else if (!plan->api->is_closing && err) {
        call_fail(plan->request, NULL, err);
    }
    json_decref(json);
    plan_free(plan);
}

static void plan_ask(struct call *call, json_t *body, json_t *resolved, json_t *warnings)
{
    struct error err;
    struct plan_call *plan = xcalloc(1, sizeof *plan);
    struct store_launch launch = {
        .environment = json_object_get(body, "environment"),
        .limits = json_object_get(body, "limits"),
        .workdir = (char *)json_string_value(json_object_get(body, "workdir")),
        .umask = (unsigned)json_integer_value(json_object_get(body, "umask")),
    };
    *plan = (struct plan_call){
        .api = call_hold_api(call->api),
        .request = call->request,
        .warnings = json_incref(warnings),
    };
    if (outlook_ask(call->api->config.loop, resolved, &launch, plan_done, plan, &err) < 0) {
        call_fail(call->request, NULL, &err);
        plan_free(plan);
    }
}

void plan_post(struct call *call)
{
    struct error err;
    size_t error_count = 0;
    json_t *body = call_body(call);
    if (!body)
        return;
    json_t *problems = json_array(), *warnings = json_array(), *resolved = NULL;
    if (submission_check(body, &err) < 0) {
        call_fail(call->request, NULL, &err);
        goto out;
    }
    submission_fill(body);
    resolved = submission_resolve(body, problems, warnings, &error_count);
    if (resolved)
        plan_ask(call, body, resolved, warnings);
    else
        request_reply_bad_spec(call->request,
                               error_count == 1 ? "the workflow has a problem"
                                                : "the workflow has problems",
                               problems);
out:
    json_decref(resolved);
    json_decref(problems);
    json_decref(warnings);
    json_decref(body);
}
