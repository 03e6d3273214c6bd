/* The requests of the benchmarks to the daemon, over one connection each.
 *
 *   bench_client submit SOCKET SPEC COUNT   submits the file COUNT times, 100 in a request, and
 * waits until Slurm has every job; prints jobs/s bench_client ingest DAEMON_JSON RUN SECRET ROWS
 *                                           pushes metric rows as a worker does; prints rows/s */
#include "lib/error.h"
#include "lib/file.h"
#include "lib/http.h"
#include "lib/text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NAMES = 10, STEPS_PER_PUSH = 500, SUBMISSIONS_PER_REQUEST = 100 };

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void die(const char *what, const char *why)
{
    (void)fprintf(stderr, "bench_client: %s: %s\n", what, why);
    exit(1);
}

/* Returns the JSON of the reply, which must have this status. The caller calls json_decref(). */
static json_t *ask(struct http_client *client, const char *method, const char *path,
                   const char *body, int status)
{
    struct http_reply reply;
    struct error err;
    if (http_request(client, method, path, body, body ? strlen(body) : 0, &reply, &err) < 0)
        die(path, err.message);
    if (reply.status != status)
        die(path, reply.body);
    json_t *json = json_loadb(reply.body, reply.body_size, 0, NULL);
    if (!json)
        die(path, "the reply is not JSON");
    http_reply_fini(&reply);
    return json;
}

static char *read_file(const char *path)
{
    char *data;
    struct error err;
    if (file_read(path, 1 << 20, &data, NULL, &err) < 0)
        die(path, err.message);
    return data;
}

/* As phasectl sends several files. */
static char *submissions(const char *spec, long first, long count)
{
    json_t *list = json_array();
    for (long i = first; i < first + count; i++)
        (void)json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:o}", "file", "bench.yaml", "spec", spec, "key",
                      json_sprintf("%016lx%016lx", (unsigned long)time(NULL), (unsigned long)i)));
    json_t *json = json_pack("{s:o, s:{}, s:b, s:s, s:{s:s}, s:i, s:[], s:s}", "workflows", list,
                             "set", "hold", 0, "workdir", "/tmp", "environment", "PATH",
                             "/usr/bin:/bin", "umask", 18, "limits", "host", "localhost");
    char *body = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    return body;
}

/* Returns the history after `*last`, and moves `*last` to its end. */
static json_t *events_after(struct http_client *client, json_int_t *last)
{
    char *path = text_format("/v1/events?after=%lld&wait=0", (long long)*last);
    json_t *json = ask(client, "GET", path, NULL, 200);
    *last = json_integer_value(json_object_get(json, "last"));
    free(path);
    return json;
}

/* Returns the end of the history. */
static json_int_t last_event(struct http_client *client)
{
    json_int_t last = 0, before;
    do {
        before = last;
        json_decref(events_after(client, &last));
    } while (last > before);
    return last;
}

/* Waits until `count` runs are pending, so that Slurm has their jobs. It polls a hundred times a
 * second, because a notification for each job would be work that no real submitter causes. */
static void await_jobs(struct http_client *client, json_int_t last, long count)
{
    static const struct timespec pause = {.tv_nsec = 10000000};
    while (count > 0) {
        json_t *json = events_after(client, &last), *event;
        size_t i;
        json_array_foreach(json_object_get(json, "events"), i, event)
        {
            const char *to = json_string_value(json_object_get(event, "to"));
            count -= to && text_equal(to, "pending");
        }
        json_decref(json);
        (void)nanosleep(&pause, NULL); /* a shorter pause does no harm */
    }
}

static int submit(const char *socket, const char *file, long count)
{
    char *spec = read_file(file);
    struct http_client *client = http_client_new_unix("the daemon", socket);
    json_int_t last = last_event(client);
    double begin = now_s();
    for (long done = 0; done < count; done += SUBMISSIONS_PER_REQUEST) {
        long rest = count - done;
        char *body = submissions(spec, done,
                                 rest < SUBMISSIONS_PER_REQUEST ? rest : SUBMISSIONS_PER_REQUEST);
        json_decref(ask(client, "POST", "/v1/workflows", body, 201));
        free(body);
    }
    await_jobs(client, last, count);
    (void)printf("%.0f\n", (double)count / (now_s() - begin));
    http_client_free(client);
    free(spec);
    return 0;
}

static char *push_body(long *sequence)
{
    struct text body = {0};
    text_add(&body, "{\"node\":\"bench\",\"entries\":[");
    for (int i = 0; i < STEPS_PER_PUSH; i++) {
        ++*sequence;
        text_addf(&body,
                  "%s{\"seq\":%ld,\"time\":%ld.123,\"type\":\"metric\",\"step\":%ld,\"values\":{",
                  i ? "," : "", *sequence, 1790000000 + *sequence, *sequence);
        for (int name = 0; name < NAMES; name++)
            text_addf(&body, "%s\"metric_%d\":%.6f", name ? "," : "", name,
                      5.0 - (double)*sequence * 1e-5);
        text_add(&body, "}}");
    }
    text_add(&body, "]}");
    return text_steal(&body);
}

static int ingest(const char *daemon_file, const char *run, const char *secret_file, long rows)
{
    char *text = read_file(daemon_file);
    json_t *address = json_loads(text, 0, NULL);
    struct mac_secret secret;
    struct error err;
    if (mac_secret_read(secret_file, &secret, &err) < 0)
        die(secret_file, err.message);
    struct http_client *client =
        http_client_new_tcp("the daemon", json_string_value(json_object_get(address, "host")),
                            (unsigned)json_integer_value(json_object_get(address, "port")));
    http_client_sign(client, &secret);
    char *path = text_format("/v1/worker/%s/journal", run);
    long sequence = 0;
    double spent = 0; /* without the time to make the bodies */
    while (sequence * NAMES < rows) {
        char *body = push_body(&sequence);
        double begin = now_s();
        json_t *reply = ask(client, "POST", path, body, 200);
        spent += now_s() - begin;
        if (json_integer_value(json_object_get(reply, "committed")) != sequence)
            die(path, "not all entries were committed");
        json_decref(reply);
        free(body);
    }
    (void)printf("%.0f\n", (double)(sequence * NAMES) / spent);
    http_client_free(client);
    json_decref(address);
    free(path);
    free(text);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 5 && text_equal(argv[1], "submit"))
        return submit(argv[2], argv[3], strtol(argv[4], NULL, 10));
    if (argc == 6 && text_equal(argv[1], "ingest"))
        return ingest(argv[2], argv[3], argv[4], strtol(argv[5], NULL, 10));
    (void)fprintf(stderr, "usage: bench_client submit|ingest ...: see the head of client.c\n");
    return 2;
}
