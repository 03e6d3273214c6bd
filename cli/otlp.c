/* OTLP over HTTP. What ended is put together from the daemon's answers. */
#include "cli/otlp.h"

#include "cli/cli.h"
#include "cli/client.h"
#include "cli/field.h"
#include "cli/spans.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/http.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OTLP_TIMEOUT_MS = 10000, OTLP_LAST_SIZE_MAX = 4096 };

/* --- The variables of OpenTelemetry ----------------------------------------------------------- */

static const char *otlp_variable(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

/* Replaces %20 by a space, and so on. Returns false if two digits do not follow, or for %00. */
static bool otlp_decode(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        unsigned byte = (unsigned char)*from;
        if (byte == '%') {
            if (!isxdigit((unsigned char)from[1]) || !isxdigit((unsigned char)from[2]) ||
                sscanf(from + 1, "%2x", &byte) != 1 || byte == 0)
                return false;
            from += 2;
        }
        *to++ = (char)byte;
    }
    *to = '\0';
    return true;
}

/* Cuts spaces and tabs at both ends. */
static char *otlp_trim(char *text)
{
    text += strspn(text, " \t");
    size_t size = strlen(text);
    while (size && strchr(" \t", text[size - 1]))
        size--;
    text[size] = '\0';
    return text;
}

/* Adds the header in "key=value". Returns a message if the entry is wrong, otherwise
 * NULL. */
static const char *otlp_add_header(struct otlp *otlp, char *entry)
{
    static const char token[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "!#$%&'*+-.^_`|~"; /* RFC 9110, 5.6.2 */
    char *value = strchr(entry, '=');
    if (!value)
        return "has no '='";
    *value++ = '\0';
    char *key = otlp_trim(entry);
    if (!*key || key[strspn(key, token)])
        return "has a key that is not a valid header name";
    value = otlp_trim(value);
    if (!otlp_decode(value) || !text_is_plain(value, ""))
        return "has a value with a wrong '%' or with a control character";
    if (!value[strspn(value, " ")])
        return "has no value";
    http_client_add_header(otlp->client, key, value);
    return NULL;
}

/* Reads "key=value,key=value" with percent signs in the values. The message does not repeat the
 * text, which may be a secret. */
static int otlp_read_headers(struct otlp *otlp, const char *text, struct error *err)
{
    char *copy = xstrdup(text), *rest = copy, *entry;
    int status = 0;
    for (int number = 1; status == 0 && (entry = strsep(&rest, ",")) != NULL; number++) {
        const char *complaint = *otlp_trim(entry) ? otlp_add_header(otlp, entry) : NULL;
        if (complaint)
            status = error_set(err, -EINVAL,
                               "OTEL_EXPORTER_OTLP_HEADERS must be a list of key=value,key=value: "
                               "entry %d %s",
                               number, complaint);
    }
    free(copy);
    return status;
}

int otlp_init(struct otlp *otlp, struct cli *cli, struct error *err)
{
    const char *traces = otlp_variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
    const char *base = otlp_variable("OTEL_EXPORTER_OTLP_ENDPOINT");
    const char *service = otlp_variable("OTEL_SERVICE_NAME");
    size_t size = strlen(base);
    while (size && base[size - 1] == '/')
        size--;
    const char *given = traces[0] ? traces : base; /* it may have a password: no message has it */
    *otlp = (struct otlp){.cli = cli, .service = service[0] ? service : "phased"};
    if (!given[0])
        return error_set(err, -EINVAL,
                         "--otlp needs the address of a collector in OTEL_EXPORTER_OTLP_ENDPOINT, "
                         "such as http://localhost:4318");
    if (!text_starts(given, "http://") && !text_starts(given, "https://"))
        return error_set(err, -EINVAL,
                         "--otlp: the address of the collector must begin with http:// or "
                         "https://");
    char *url = traces[0] ? xstrdup(traces) : text_format("%.*s/v1/traces", (int)size, base);
    otlp->client = http_client_new_url("the collector", url);
    http_client_set_timeouts(otlp->client, OTLP_TIMEOUT_MS, OTLP_TIMEOUT_MS);
    free(url);
    return otlp_read_headers(otlp, otlp_variable("OTEL_EXPORTER_OTLP_HEADERS"), err);
}

void otlp_fini(struct otlp *otlp)
{
    http_client_free(otlp->client);
}

/* --- The last event that was sent ------------------------------------------------------------- */

int otlp_lock(const struct cli *cli, struct error *err)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const char *path = cli->home.otlp_lock;
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 && errno == ENOENT)
        return 0; /* without a home there is no daemon either, and the next message says so */
    if (fd < 0)
        return error_set(err, -errno, "could not open %s: %s", path, strerror(errno));
    if (fcntl(fd, F_SETLK, &lock) == 0)
        return 0; /* the system closes the file at the end of the process */
    int cause = errno;
    (void)close(fd); /* nothing was written */
    if (cause == EAGAIN || cause == EACCES)
        return error_set(err, -EBUSY,
                         "another 'phasectl events --otlp' is running: it has locked %s", path);
    return error_set(err, -cause, "could not lock %s: %s", path, strerror(cause));
}

long long otlp_read_last(const struct cli *cli)
{
    char *data;
    size_t size;
    struct error err;
    if (file_read(cli->home.otlp, OTLP_LAST_SIZE_MAX, &data, &size, &err) < 0)
        return 0;
    json_t *json = json_loadb(data, size, 0, NULL);
    long long last = field_integer(json, "after");
    json_decref(json);
    free(data);
    return last;
}

int otlp_write_last(const struct cli *cli, long long last, struct error *err)
{
    char *text = text_format("{\"after\": %lld}\n", last);
    int status = file_replace(cli->home.otlp, text, strlen(text), 0600, err);
    free(text);
    return status < 0 ? -ENOTRECOVERABLE : 0;
}

/* --- The request ------------------------------------------------------------------------------ */

static void otlp_refused(struct otlp *otlp, size_t count, const char *why)
{
    struct text safe = {0};
    terminal_add_plain(&safe, why);
    otlp->refused += count;
    (void)fprintf(stderr, "phasectl: the collector has refused %zu span%s: %s\n", count,
                  count == 1 ? "" : "s", text_string(&safe));
    text_fini(&safe);
}

/* A collector may take a part of the spans. The others must not be sent again. */
static void otlp_taken(struct otlp *otlp, size_t count, const struct http_reply *reply)
{
    json_t *json = json_loadb(reply->body, reply->body_size, 0, NULL);
    const json_t *partial = json_object_get(json, "partialSuccess");
    const json_t *rejected = json_object_get(partial, "rejectedSpans");
    long long refused = json_is_string(rejected) ? atoll(json_string_value(rejected))
                                                 : json_integer_value(rejected);
    size_t part = refused > 0 && (size_t)refused < count ? (size_t)refused : 0;
    part = refused >= (long long)count ? count : part;
    if (part)
        otlp_refused(otlp, part, field_text(partial, "errorMessage"));
    otlp->sent += count - part;
    json_decref(json);
}

static int otlp_post(struct otlp *otlp, json_t *spans, struct error *err)
{
    char *body = spans_body(otlp->service, otlp->cli->home.path, spans);
    struct http_reply reply = {0};
    int status = http_request(otlp->client, "POST", "", body, strlen(body), &reply, err);
    int answer = reply.status;
    bool is_later = answer == 429 || answer == 502 || answer == 503 || answer == 504;
    bool is_refused = answer == 400 || answer == 413 || answer == 422; /* the spans are at fault */
    free(body);
    if (status < 0)
        return -EHOSTUNREACH;
    if (is_later) {
        status = error_set(err, -EHOSTUNREACH, "the collector at %s answers with HTTP status %d",
                           http_client_address(otlp->client), answer);
    } else if (answer >= 200 && answer <= 299) {
        otlp_taken(otlp, json_array_size(spans), &reply);
    } else if (is_refused) {
        char *why = text_format("HTTP status %d", answer);
        otlp_refused(otlp, json_array_size(spans), why);
        free(why);
    } else {
        status = error_set(err, -EPROTO, "the collector at %s answers with HTTP status %d%s",
                           http_client_address(otlp->client), answer,
                           answer < 500 ? "; check its address and the headers" : "");
    }
    http_reply_fini(&reply);
    return status;
}

/* --- What has ended --------------------------------------------------------------------------- */

/* Appends the whole history of a workflow. */
static int otlp_read_history(const struct otlp *otlp, long long workflow, json_t *events,
                             struct error *err)
{
    long long after = 0;
    for (;;) {
        json_t *reply;
        int status = client_get(otlp->cli, &reply, err,
                                "/v1/events?after=%lld&workflow=%lld&wait=0", after, workflow);
        if (status < 0)
            return status;
        size_t count = json_array_size(json_object_get(reply, "events"));
        after = field_integer(reply, "last");
        (void)json_array_extend(events, json_object_get(reply, "events"));
        json_decref(reply);
        if (count == 0)
            return 0;
    }
}

/* Adds the spans of one workflow. */
static int otlp_add(struct otlp *otlp, long long number, const json_t *news, json_t *spans,
                    struct error *err)
{
    json_t *events = json_array(), *workflow = NULL, *runs = NULL;
    int status = otlp_read_history(otlp, number, events, err);
    if (status == 0)
        status = client_get(otlp->cli, &workflow, err, "/v1/workflows/%lld", number);
    if (status == 0)
        status = client_get(otlp->cli, &runs, err, "/v1/runs?workflow=%lld", number);
    if (status == 0) {
        const struct spans_source source = {.home = otlp->cli->home.path,
                                            .workflow = workflow,
                                            .runs = json_object_get(runs, "runs"),
                                            .events = events};
        size_t missing = spans_add(&source, news, spans);
        if (missing)
            (void)fprintf(stderr,
                          "phasectl: %zu runs of workflow %lld have no span: the daemon lists the "
                          "newest 10,000\n",
                          missing, number);
    }
    json_decref(events);
    json_decref(workflow);
    json_decref(runs);
    return status;
}

int otlp_send(struct otlp *otlp, const json_t *news, struct error *err)
{
    json_t *spans = json_array(), *by_workflow = json_object(), *event, *own;
    const char *number;
    size_t i;
    int status = 0;
    json_array_foreach((json_t *)news, i, event)
    {
        if (!spans_may_be_end(event))
            continue;
        char *key = text_format("%lld", field_integer(event, "workflow"));
        if (!json_object_get(by_workflow, key))
            json_object_set_new(by_workflow, key, json_array());
        (void)json_array_append(json_object_get(by_workflow, key), event);
        free(key);
    }
    json_object_foreach(by_workflow, number, own) if (status == 0) status =
        otlp_add(otlp, atoll(number), own, spans, err);
    if (status == 0 && json_array_size(spans))
        status = otlp_post(otlp, spans, err);
    json_decref(by_workflow);
    json_decref(spans);
    return status;
}
