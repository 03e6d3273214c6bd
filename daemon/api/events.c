/* Events of the record: a long poll. */
#include "daemon/api/inside.h"

#include "daemon/loop/loop.h"
#include "daemon/store/answers.h"
#include "lib/error.h"

enum { EVENTS_MAX = 1000 }; /* in one answer; the client asks again from the last event */

bool events_answer(void *context, const struct waiter *waiter, bool is_over)
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

void events_get(struct call *call)
{
    struct waiter waiter = {.request = call->request};
    uint64_t wait_s;
    if (call_number(call, "after", 0, &waiter.after) &&
        call_number(call, "workflow", 0, &waiter.id) &&
        call_number(call, "wait", WAIT_MAX_S, &wait_s))
        waiters_add(&call->api->events, &waiter, wait_s < WAIT_MAX_S ? wait_s : WAIT_MAX_S);
}
