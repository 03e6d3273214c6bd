/* Starts, asks and kills a daemon. */
#include "tests/unit/daemon_world.h"

#include "daemon/api/api.h"
#include "daemon/lock.h"
#include "daemon/loop/loop.h"
#include "daemon/rooms.h"
#include "daemon/slurm/cluster.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/home.h"
#include "lib/http.h"
#include "lib/mac.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "tests/unit/fake_cluster.h"
#include "tests/unit/new_record.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

/* --- The daemon's process --------------------------------------------------------------------- */

struct served {
    struct home home;
    struct store *store;
    struct loop *loop;
    struct api *api;
    uv_loop_t uv;
    uv_signal_t term;
    bool is_closing;
};

static void served_loop_closed(void *context)
{
    struct served *served = context;
    uv_close((uv_handle_t *)&served->term, NULL);
}

static void served_api_closed(void *context)
{
    struct served *served = context;
    loop_close(served->loop, served_loop_closed, served);
}

static void served_close(void *context)
{
    struct served *served = context;
    if (!served->is_closing) {
        served->is_closing = true;
        api_close(served->api, served_api_closed, served);
    }
}

static void served_on_term(uv_signal_t *handle, int number)
{
    (void)number;
    (void)uv_signal_stop(handle);
    served_close(handle->data);
}

static void die(const struct error *err)
{
    (void)!write(2, err->message, strlen(err->message));
    _exit(3);
}

static void serve(const struct world *world)
{
    struct served served = {.home = {.folder = -1}};
    struct error err;
    (void)umask(077);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    int lock = -1;
    if (home_init(&served.home, world->home, &err) < 0 ||
        (lock = lock_take(served.home.lock, -1, &err)) < 0 ||
        file_make_folders(served.home.runs, 0700, &err) < 0 ||
        store_open(served.home.database, served.home.runs, &served.store, &err) < 0)
        die(&err);
    (void)uv_loop_init(&served.uv);
    (void)uv_signal_init(&served.uv, &served.term);
    served.term.data = &served;
    (void)uv_signal_start(&served.term, served_on_term, SIGTERM);
    struct loop_config loop_config = {.uv = &served.uv,
                                      .home = &served.home,
                                      .store = served.store,
                                      .fenced = served_close,
                                      .context = &served,
                                      .rooms = daemon_rooms,
                                      .worker = "/opt/phase d/bin/phase-worker"};
    if (loop_open(&loop_config, &served.loop, &err) < 0)
        die(&err);
    struct cluster *cluster = fake_cluster_new(world->slurm, loop_wake, served.loop);
    loop_start(served.loop, cluster);
    struct api_config api_config = {.uv = &served.uv,
                                    .loop = served.loop,
                                    .home = &served.home,
                                    .host = "127.0.0.1",
                                    .version = "test",
                                    .started_ms = loop_now_ms()};
    if (api_open(&api_config, &served.api, &err) < 0)
        die(&err);
    (void)uv_run(&served.uv, UV_RUN_DEFAULT);
    if (uv_loop_close(&served.uv) != 0)
        _exit(4);
    cluster_free(cluster);
    store_close(served.store);
    home_fini(&served.home);
    (void)close(lock);
}

/* --- Life ------------------------------------------------------------------------------------- */

void world_pause(void)
{
    struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
    (void)nanosleep(&pause, NULL);
}

static int64_t clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void world_reap(struct world *world, int status)
{
    world->pid = 0;
    (void)status;
}

void world_start(struct world *world, const char *crash)
{
    assert_int_equal(world->pid, 0);
    world->pid = fork();
    assert_true(world->pid >= 0);
    if (world->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* it must not outlive its test */
        char *log = text_format("%s/phased.log", world->home);
        int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
        free(log);
        (void)dup2(fd, 2);
        (void)close(fd);
        if (crash)
            (void)setenv("PHASED_CRASH", crash, 1);
        serve(world);
        exit(0); /* so that the leak sanitizer checks */
    }
    int64_t deadline = clock_ms() + WORLD_DEADLINE_MS;
    while (clock_ms() < deadline) {
        int code, status;
        json_t *ping = world_call(world, "GET", "/v1/ping", NULL, &status);
        json_decref(ping);
        if (ping)
            return;
        if (waitpid(world->pid, &code, WNOHANG) == world->pid) {
            world_reap(world, code);
            return;
        }
        world_pause();
    }
    fail_msg("the daemon does not answer");
}

void world_stop(struct world *world)
{
    int code = -1;
    assert_true(world->pid > 0);
    assert_int_equal(kill(world->pid, SIGTERM), 0);
    assert_int_equal(waitpid(world->pid, &code, 0), world->pid);
    world_reap(world, code);
    assert_true(WIFEXITED(code));
    assert_int_equal(WEXITSTATUS(code), 0);
}

void world_kill(struct world *world)
{
    int code;
    assert_true(world->pid > 0);
    assert_int_equal(kill(world->pid, SIGKILL), 0);
    assert_int_equal(waitpid(world->pid, &code, 0), world->pid);
    world_reap(world, code);
}

long world_memory_kib(const struct world *world)
{
    char line[256], *path = text_format("/proc/%d/status", (int)world->pid);
    long peak = -1;
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        (void)sscanf(line, "VmHWM: %ld", &peak);
    (void)fclose(file);
    free(path);
    return peak;
}

void world_await_crash(struct world *world)
{
    int code;
    int64_t deadline = clock_ms() + WORLD_DEADLINE_MS;
    while (world->pid && clock_ms() < deadline) {
        if (waitpid(world->pid, &code, WNOHANG) == world->pid) {
            assert_true(WIFSIGNALED(code) && WTERMSIG(code) == SIGKILL);
            world_reap(world, code);
        }
        world_pause();
    }
    assert_int_equal(world->pid, 0);
}

int world_setup(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    (void)snprintf(world->home, sizeof world->home, "/tmp/phased-test-XXXXXX");
    assert_non_null(mkdtemp(world->home));
    (void)snprintf(world->slurm, sizeof world->slurm, "%s/slurm", world->home);
    assert_int_equal(mkdir(world->slurm, 0700), 0);
    char *path = text_format("%s/phased.db", world->home);
    new_record(path);
    free(path);
    world_start(world, NULL);
    *state = world;
    return 0;
}

int world_teardown(void **state)
{
    struct world *world = *state;
    int code;
    if (world->pid) {
        (void)kill(world->pid, SIGKILL);
        (void)waitpid(world->pid, &code, 0);
    }
    const char *const remove[] = {"rm", "-rf", world->home, NULL};
    pid_t pid = fork();
    if (pid == 0) {
        (void)execvp("rm", (char *const *)remove);
        _exit(127);
    }
    (void)waitpid(pid, &code, 0);
    free(world);
    return 0;
}

/* --- Asking ----------------------------------------------------------------------------------- */

json_t *world_call(struct world *world, const char *method, const char *path, json_t *body,
                   int *ret_status)
{
    struct home home;
    struct http_reply reply;
    char address[HOME_SOCKET_ADDRESS_SIZE];
    json_t *json = NULL;
    assert_int_equal(home_init(&home, world->home, NULL), 0);
    assert_int_equal(home_socket_address(&home, address, NULL), 0);
    struct http_client *client = http_client_new_unix("the daemon", address);
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    json_decref(body);
    if (http_request(client, method, path, text, text ? strlen(text) : 0, &reply, NULL) == 0) {
        *ret_status = reply.status;
        json = json_loadb(reply.body, reply.body_size, 0, NULL);
        http_reply_fini(&reply);
    }
    free(text);
    http_client_free(client);
    home_fini(&home);
    return json;
}

json_t *world_expect(struct world *world, int status, const char *method, const char *path,
                     json_t *body)
{
    int actual = 0;
    json_t *json = world_call(world, method, path, body, &actual);
    if (!json || actual != status) {
        char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
        fail_msg("%s %s: status %d instead of %d: %s", method, path, actual, status,
                 text ? text : "no reply");
    }
    return json;
}

json_t *world_submission(const char *spec, const char *key)
{
    json_t *body = json_pack("{s:s, s:s, s:s, s:{s:s}, s:i, s:[], s:s}", "file", "test.yaml",
                             "spec", spec, "workdir", "/tmp", "environment", "WHO", "anna", "umask",
                             18, "limits", "host", "login1");
    assert_non_null(body);
    if (key)
        (void)json_object_set_new(body, "key", json_string(key));
    return body;
}

const char *world_member(json_t *json, const char *member)
{
    static char buffer[512];
    char *path = xstrdup(member), *rest = path;
    while (json && rest) {
        char *dot = strchr(rest, '.');
        if (dot)
            *dot = '\0';
        json = json_is_array(json) ? json_array_get(json, strtoul(rest, NULL, 10))
                                   : json_object_get(json, rest);
        rest = dot ? dot + 1 : NULL;
    }
    free(path);
    if (json_is_string(json)) {
        (void)snprintf(buffer, sizeof buffer, "%s", json_string_value(json));
    } else {
        char *text = json ? json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
        (void)snprintf(buffer, sizeof buffer, "%s", text ? text : "(absent)");
        free(text);
    }
    return buffer;
}

void world_await(struct world *world, const char *path, const char *member, const char *text)
{
    char last[512] = "";
    int64_t deadline = clock_ms() + WORLD_DEADLINE_MS;
    while (clock_ms() < deadline) {
        int status = 0;
        json_t *json = world_call(world, "GET", path, NULL, &status);
        (void)snprintf(last, sizeof last, "%s", world_member(json, member));
        json_decref(json);
        if (text_equal(last, text))
            return;
        world_pause();
    }
    char *log = world_read(world, "phased.log");
    print_error("%s %s is \"%s\", not \"%s\"; the daemon's log:\n%s", path, member, last, text,
                log);
    free(log);
    fail();
}

/* --- The fake cluster ------------------------------------------------------------------------- */

void world_slurm_write(struct world *world, const char *name, const char *text)
{
    char *path = text_format("%s/%s", world->slurm, name);
    assert_int_equal(file_replace(path, text, strlen(text), 0600, NULL), 0);
    free(path);
}

size_t world_slurm_lines(struct world *world, const char *name)
{
    char *path = text_format("slurm/%s", name), *text = world_read(world, path);
    size_t lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    free(path);
    free(text);
    return lines;
}

void world_await_least(struct world *world, const char *name, size_t count)
{
    int64_t deadline = clock_ms() + WORLD_DEADLINE_MS;
    while (world_slurm_lines(world, name) < count && clock_ms() < deadline)
        world_pause();
    assert_true(world_slurm_lines(world, name) >= count);
}

void world_await_lines(struct world *world, const char *name, size_t count)
{
    world_await_least(world, name, count);
    assert_int_equal(world_slurm_lines(world, name), count);
}

unsigned world_job(size_t n)
{
    return 101 + (unsigned)n;
}

/* --- Workers ---------------------------------------------------------------------------------- */

json_t *world_worker(struct world *world, const char *run_folder, const char *method,
                     const char *verb, json_t *body, int *ret_status)
{
    struct mac_secret secret;
    struct http_reply reply;
    char *secret_path = text_format("%s/%s/secret", world->home, run_folder);
    char *run_path = text_format("%s/run.json", run_folder);
    char *daemon_text = world_read(world, "daemon.json"), *run_text = world_read(world, run_path);
    json_t *daemon = json_loads(daemon_text, 0, NULL), *run = json_loads(run_text, 0, NULL);
    json_t *json = NULL;
    assert_int_equal(mac_secret_read(secret_path, &secret, NULL), 0);
    char *path = text_format("/v1/worker/%lld/%s",
                             (long long)json_integer_value(json_object_get(run, "run")), verb);
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    struct http_client *client =
        http_client_new_tcp("the daemon", json_string_value(json_object_get(daemon, "host")),
                            (unsigned)json_integer_value(json_object_get(daemon, "port")));
    http_client_sign(client, &secret);
    *ret_status = 0;
    if (http_request(client, method, path, text, text ? strlen(text) : 0, &reply, NULL) == 0) {
        *ret_status = reply.status;
        json = json_loadb(reply.body, reply.body_size, 0, NULL);
        http_reply_fini(&reply);
    }
    http_client_free(client);
    json_decref(body);
    json_decref(daemon);
    json_decref(run);
    free(text);
    free(path);
    free(secret_path);
    free(run_path);
    free(daemon_text);
    free(run_text);
    return json;
}

long world_push(struct world *world, const char *run_folder, const char *node,
                const char *const *entries)
{
    int status;
    json_t *list = json_array();
    for (; *entries; entries++) {
        json_t *entry = json_loads(*entries, 0, NULL);
        assert_non_null(entry);
        (void)json_array_append_new(list, entry);
    }
    json_t *body = json_pack("{s:s, s:o}", "node", node, "entries", list);
    json_t *json = world_worker(world, run_folder, "POST", "journal", body, &status);
    long committed =
        status == 200 ? (long)json_integer_value(json_object_get(json, "committed")) : -status;
    json_decref(json);
    return committed;
}

char *world_read(struct world *world, const char *name)
{
    char *path = text_format("%s/%s", world->home, name), *data = NULL;
    if (file_read(path, 16 << 20, &data, NULL, NULL) < 0)
        data = xstrdup("");
    free(path);
    return data;
}

bool world_log_has(struct world *world, const char *text)
{
    char *log = world_read(world, "phased.log");
    bool has = strstr(log, text) != NULL;
    free(log);
    return has;
}
