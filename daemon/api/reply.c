/* The text of replies: JSON as the API writes it, and errors. request.c takes it. */
#include "daemon/api/server.h"

#include "lib/text.h"

#include <stdlib.h>

static const struct {
    const char *code;
    unsigned status;
} api_errors[] = {
#define X(symbol, code, status) {code, status},
    API_ERRORS(X)
#undef X
};

static int reply_add(const char *bytes, size_t size, void *text)
{
    text_add_bytes(text, bytes, size);
    return 0;
}

void reply_add_json(struct text *text, json_t *json)
{
    /* A double keeps at most 15 digits exactly: 129.36, not 129.36000000000001. */
    if (json_dump_callback(json, reply_add, text, JSON_COMPACT | JSON_REAL_PRECISION(15)) < 0)
        abort(); /* no memory, or the API made a value that JSON does not have */
    json_decref(json);
}

void request_reply_json(struct request *request, unsigned status, json_t *json)
{
    struct text text = {0};
    reply_add_json(&text, json);
    size_t size = text.size;
    request_reply_take(request, status, text_steal(&text), size);
}

static json_t *api_error_json(enum api_error error, const char *where, const char *message)
{
    json_t *json = json_object(), *inner = json_object();
    if (json_object_set_new(inner, "code", json_string(api_errors[error].code)) < 0 ||
        json_object_set_new(json, "error", inner) < 0)
        abort();
    /* A message may quote the client's text, which may not be UTF-8. */
    json_t *text = json_string(message);
    (void)json_object_set_new(inner, "message", text ? text : json_string("not UTF-8"));
    if (where)
        (void)json_object_set_new(inner, "where", json_string(where)); /* left out if not UTF-8 */
    return json;
}

void request_reply_error(struct request *request, enum api_error error, const char *where,
                         const char *format, ...)
{
    struct text message = {0};
    va_list args;
    va_start(args, format);
    text_addv(&message, format, args);
    va_end(args);
    request_reply_json(request, api_errors[error].status,
                       api_error_json(error, where, text_string(&message)));
    text_fini(&message);
}

void request_reply_bad_spec(struct request *request, const char *message, json_t *problems)
{
    json_t *json = api_error_json(API_BAD_SPEC, NULL, message);
    (void)json_object_set(json_object_get(json, "error"), "problems", problems);
    request_reply_json(request, api_errors[API_BAD_SPEC].status, json);
}
