/* What all handlers need: the body and the numbers of a call, and its answer. */
#include "daemon/api/api_private.h"

#include "daemon/loop/loop.h"
#include "daemon/store/store.h"
#include "lib/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool call_parse_number(const char *text, size_t size, uint64_t max, uint64_t *ret_number)
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

void call_fail(struct request *request, const char *where, const struct error *err)
{
    enum api_error error = err->code == -ENOENT        ? API_NOT_FOUND
                           : err->code == -EINVAL      ? API_BAD_REQUEST
                           : store_may_pass(err->code) ? API_UNAVAILABLE
                                                       : API_INTERNAL;
    request_reply_error(request, error, where && *where ? where : NULL, "%s", err->message);
}

void call_fail_later(struct request *request, const struct error *failure)
{
    request_reply_error(
        request, API_UNAVAILABLE, NULL, "the record cannot be written: %s%s", failure->message,
        store_may_pass(failure->code) ? "; the request takes effect when the record can be written"
                                      : "");
}

void call_answer(struct call *call, int status, json_t *json, const struct error *err)
{
    if (status == 0) {
        request_reply_json(call->request, 200, json);
        return;
    }
    json_decref(json);
    call_fail(call->request, call->text, err);
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
        (void)snprintf(failure.text, sizeof failure.text, "must be an object");
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
    if (call_parse_number(text, strlen(text), INT64_MAX, ret_number))
        return true;
    request_reply_error(call->request, API_BAD_REQUEST, name, "must be a number: %s", text);
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

struct api *call_hold_api(struct api *api)
{
    api->holds++;
    return api;
}

void call_release_api(struct api *api)
{
    if (--api->holds == 0)
        free(api);
}
