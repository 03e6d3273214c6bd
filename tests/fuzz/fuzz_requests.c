/* Any line as a person's request (`POST /v1/workflows/@/hold`; @ is the newest workflow) with any
 * bytes after it as the body: the real routes, loop and record answer it once, with a status, and
 * go on. The HTTP around it is libmicrohttpd's, and this file's as far as handlers see it. */
#include "tests/fuzz/fuzz.h"

#include "daemon/api/api_private.h"
#include "daemon/loop/loop.h"
#include "daemon/rooms.h"
#include "daemon/slurm/cluster.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/home.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "tests/unit/fake_cluster.h"
#include "tests/unit/folder.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char fuzz_corpus[] = "requests";

enum {
    WORLD_INPUTS = 300, /* inputs that share one record, because it grows */
    TURNS =
        16, /* after this many, all consequences of a request have happened, except long polls */
};

static const char submission[] =
    "{\"file\": \"t.yaml\", \"workdir\": \"/tmp\", \"environment\": {}, \"umask\": 18, "
    "\"limits\": [], \"host\": \"h\", \"spec\": \"name: t\\nphases:\\n  a:\\n    resources: "
    "{nodes: 1, gpus: 1, time: 10m}\\n    checkpoint: {path: 's{step}'}\\n    run: x\\n  b:\\n    "
    "after: "
    "a\\n    resources: {nodes: 1, gpus: 1, time: 10m}\\n    run: x\\n\"}";

static struct {
    struct home home;
    struct store *store;
    struct loop *loop;
    struct cluster *cluster;
    uv_loop_t uv;
    struct api api;
    unsigned inputs;
    long long newest; /* an untouched workflow; 0: there is no such workflow */
} world;

/* --- A request, in place of server.c ---------------------------------------------------------- */

struct request {
    char *line; /* the method, a NUL, and the target */
    char *path;
    char *query; /* its arguments, each ended by a NUL; the last by two */
    const char *target, *body;
    size_t body_size;
    json_t *reply; /* the reply to a success, if it is JSON */
    unsigned status;
    bool has_header, is_left; /* nobody waits for the reply any more */
};

static struct request *request_new(const char *line, const char *body, size_t size)
{
    struct request *request = calloc(1, sizeof *request);
    size_t before = strcspn(line, "@");
    assert(request);
    *request = (struct request){.body = body, .body_size = size};
    request->line =
        line[before] ? text_format("%.*s%lld%s", (int)before, line, world.newest, line + before + 1)
                     : xstrdup(line);
    char *space = strchr(request->line, ' ');
    if (space)
        *space++ = '\0';
    request->target = space ? space : "";
    size_t length = strcspn(request->target, "?");
    request->path = text_format("%.*s", (int)length, request->target);
    request->query = text_format("%s&", request->target + length + !!request->target[length]);
    for (char *c = request->query; (c = strchr(c, '&')); c++)
        *c = '\0';
    return request;
}

static void request_free(struct request *request)
{
    json_decref(request->reply);
    free(request->line);
    free(request->path);
    free(request->query);
    free(request);
}

const char *request_method(const struct request *request)
{
    return request->line;
}

const char *request_path(const struct request *request)
{
    return request->path;
}

const char *request_target(const struct request *request)
{
    return request->target;
}

size_t request_query_all(const struct request *request, const char *name, const char **values,
                         size_t max)
{
    size_t size = strlen(name), count = 0;
    for (const char *c = request->query; *c && count < max; c += strlen(c) + 1)
        if (strncmp(c, name, size) == 0 && c[size] == '=')
            values[count++] = c + size + 1;
    return count;
}

const char *request_query(const struct request *request, const char *name)
{
    const char *first;
    return request_query_all(request, name, &first, 1) ? first : NULL;
}

const char *request_header(const struct request *request, const char *name)
{
    (void)request, (void)name;
    return NULL;
}

const char *request_body(const struct request *request, size_t *ret_size)
{
    *ret_size = request->body_size;
    return request->body;
}

void request_prove(struct request *request)
{
    (void)request;
}

void request_set_header(struct request *request, const char *name, const char *value)
{
    assert(!request->has_header && name && value);
    request->has_header = true;
}

void request_keep(struct request *request)
{
    (void)request;
}

struct challenge *request_challenge(struct request *request)
{
    (void)request;
    return NULL; /* no request comes over TCP */
}

void request_replace_body(struct request *request, char *body, size_t size)
{
    (void)request, (void)body, (void)size;
}

void request_sign(struct request *request, const struct mac_secret *secret, const char *nonce,
                  bool is_encrypted)
{
    (void)request, (void)secret, (void)nonce, (void)is_encrypted;
}

void request_set_type(struct request *request, const char *type)
{
    (void)request;
    assert(type);
}

void request_reply_take(struct request *request, unsigned status, char *body, size_t size)
{
    assert(request->status == 0 && status >= 200 && status < 600 && body[size] == '\0');
    request->status = status;
    request->reply = json_loadb(body, size, 0, NULL);
    assert(status < 300 ||
           json_is_string(json_object_get(json_object_get(request->reply, "error"), "message")));
    free(body);
    if (request->is_left)
        request_free(request);
}

/* --- The daemon around it --------------------------------------------------------------------- */

static void fail_on(int status, const struct error *err)
{
    if (status == 0)
        return;
    (void)fprintf(stderr, "%s\n", err->message);
    abort();
}

static void world_open(void)
{
    struct error err;
    (void)folder_make(NULL);
    fail_on(home_init(&world.home, folder, &err), &err);
    fail_on(file_make_folders(world.home.runs, 0700, &err), &err);
    fail_on(store_open(world.home.database, world.home.runs, &world.store, &err), &err);
    (void)uv_loop_init(&world.uv);
    const struct loop_config config = {.uv = &world.uv,
                                       .home = &world.home,
                                       .store = world.store,
                                       .worker = "/bin/phase-worker",
                                       .rooms = daemon_rooms};
    fail_on(loop_open(&config, &world.loop, &err), &err);
    world.cluster = fake_cluster_new(folder, loop_wake, world.loop);
    loop_start(world.loop, world.cluster);
    world.api = (struct api){
        .config = {.uv = &world.uv, .loop = world.loop, .home = &world.home, .version = "fuzz"},
        .holds = 1};
    waiters_init(&world.api.events, &world.uv, read_events_answer, &world.api);
    waiters_init(&world.api.commands, &world.uv, worker_answer, &world.api);
}

static void world_turn(void)
{
    for (int i = 0; i < TURNS; i++)
        (void)uv_run(&world.uv, UV_RUN_NOWAIT);
}

static void world_closed(void *context)
{
    (void)context;
}

static void world_close(void)
{
    if (!world.loop)
        return;
    world.api.is_closing = true;
    waiters_close(&world.api.events, NULL);
    waiters_close(&world.api.commands, NULL);
    loop_close(world.loop, world_closed, NULL);
    (void)uv_run(&world.uv, UV_RUN_DEFAULT);
    int status = uv_loop_close(&world.uv);
    assert(status == 0);
    cluster_free(world.cluster);
    store_close(world.store);
    home_fini(&world.home);
    (void)folder_remove(NULL);
    memset(&world, 0, sizeof world);
}

/* Handles a request and its consequences. Returns the immediate answer, or NULL. */
static struct request *ask(const char *line, const char *body, size_t size)
{
    struct request *request = request_new(line, body, size);
    routes_handle_person(request, &world.api);
    request->body = NULL; /* handlers keep no part of it */
    request->body_size = 0;
    world_turn();
    if (request->status != 0)
        return request;
    request->is_left = true;
    return NULL;
}

/* An input may leave a workflow in any state, so the next input needs another workflow. */
static void submit(void)
{
    struct request *request = ask("POST /v1/workflows", submission, strlen(submission));
    assert(request && request->status == 201);
    world.newest = json_integer_value(json_object_get(request->reply, "workflow"));
    assert(world.newest > 0);
    request_free(request);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool is_registered;
    if (!is_registered)
        (void)atexit(world_close);
    is_registered = true;
    if (world.inputs++ % WORLD_INPUTS == 0) {
        world_close();
        world_open();
        world.inputs = 1;
    }
    if (!world.newest)
        submit();
    const char *text = (const char *)data, *newline = memchr(text, '\n', size);
    size_t length = newline ? (size_t)(newline - text) : size;
    char *line = strndup(text, length);
    assert(line);
    length += newline != NULL;
    struct request *request = ask(line, text + length, size - length);
    if (!request || (request->status < 300 && !text_equal(request->line, "GET")))
        world.newest = 0;
    if (request)
        request_free(request);
    assert(!loop_trouble(world.loop));
    free(line);
    return 0;
}
