/* The end of a daemon: requests of the round of its loop in which it stops are recorded and
 * answered. */
#include "tests/unit/daemon_world.h"

#include "lib/text.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static const char one_phase[] = "name: one\n"
                                "phases:\n"
                                "  a:\n"
                                "    resources: {nodes: 1, gpus: 2, time: 10m}\n"
                                "    run: echo\n";

static void submit(struct world *world)
{
    json_decref(
        world_expect(world, 201, "POST", "/v1/workflows", world_submission(one_phase, NULL)));
}

static void ask(int fd, const char *method, const char *path, json_t *body)
{
    char *text = body ? json_dumps(body, JSON_COMPACT) : text_format("{}");
    char *request = text_format("%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n%s",
                                method, path, strlen(text), text);
    assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
    json_decref(body);
    free(request);
    free(text);
}

/* Returns what comes until `end`, or until the daemon closes; the caller frees it. */
static char *hear(int fd, const char *end)
{
    struct text reply = {0};
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    ssize_t count = 1;
    while (count > 0 && !(end && text_ends(text_string(&reply), end)) &&
           poll(&readable, 1, WORLD_DEADLINE_MS) == 1) {
        char buffer[4096];
        count = recv(fd, buffer, sizeof buffer, 0);
        text_add_bytes(&reply, buffer, count > 0 ? (size_t)count : 0);
    }
    return text_steal(&reply);
}

/* Opens a connection, and waits until the daemon has accepted it. */
static int open_connection(struct world *world)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/phased.sock", world->home);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    ask(fd, "GET", "/v1/ping", NULL);
    char *reply = hear(fd, "}}");
    assert_true(text_starts(reply, "HTTP/1.1 200 "));
    free(reply);
    return fd;
}

/* Stops the process of the daemon, so that one round of its loop finds all that comes meanwhile.
 * libuv handles signals last. */
static void halt(struct world *world)
{
    int code;
    assert_int_equal(kill(world->pid, SIGSTOP), 0);
    assert_int_equal(waitpid(world->pid, &code, WUNTRACED), world->pid);
    assert_true(WIFSTOPPED(code));
}

static void expect_reply(int fd, const char *end, const char *status)
{
    char *reply = hear(fd, end);
    if (!text_starts(reply, status))
        fail_msg("not %s: %s", status, *reply ? reply : "no reply");
    free(reply);
    close(fd);
}

static void requests_at_the_stop_are_recorded_and_answered(void **state)
{
    struct world *world = *state;
    static const struct {
        const char *method, *path, *status;
    } rows[] = {
        {"POST", "/v1/workflows", "HTTP/1.1 201 "},
        {"POST", "/v1/workflows/1/hold", "HTTP/1.1 200 "},
        {"POST", "/v1/workflows/1/budget", "HTTP/1.1 200 "},
        {"DELETE", "/v1/nodes/n1", "HTTP/1.1 200 "},
    };
    enum { ROWS = sizeof rows / sizeof *rows };
    json_t *bodies[ROWS] = {world_submission(one_phase, NULL), NULL,
                            json_pack("{s:i}", "gpu_hours", 9)};
    int fds[ROWS], code;
    submit(world);
    world_await_lines(world, "jobs", 1);
    json_decref(world_expect(world, 200, "POST", "/v1/nodes/n1", NULL));
    for (size_t i = 0; i < ROWS; i++)
        fds[i] = open_connection(world);
    halt(world);
    for (size_t i = 0; i < ROWS; i++)
        ask(fds[i], rows[i].method, rows[i].path, bodies[i]);
    assert_int_equal(kill(world->pid, SIGTERM), 0);
    assert_int_equal(kill(world->pid, SIGCONT), 0);
    for (size_t i = 0; i < ROWS; i++)
        expect_reply(fds[i], NULL, rows[i].status);
    assert_int_equal(waitpid(world->pid, &code, 0), world->pid);
    world->pid = 0;
    assert_true(WIFEXITED(code));
    assert_int_equal(WEXITSTATUS(code), 0);
    world_start(world, NULL);
    world_await(world, "/v1/workflows/1", "phases.0.state", "held");
    world_await_lines(world, "jobs", 2);
}

/* The event would be posted when Slurm has answered, and would wait there after the end of its
 * request. */
static void a_request_is_refused_if_the_disk_is_full_when_slurm_answers(void **state)
{
    struct world *world = *state;
    const struct rlimit full = {.rlim_cur = 1, .rlim_max = RLIM_INFINITY};
    int node = open_connection(world), submission = open_connection(world);
    halt(world);
    ask(node, "POST", "/v1/nodes/n1", NULL);
    ask(submission, "POST", "/v1/workflows", world_submission(one_phase, NULL));
    assert_int_equal(prlimit(world->pid, RLIMIT_FSIZE, &full, NULL), 0);
    assert_int_equal(kill(world->pid, SIGCONT), 0);
    expect_reply(submission, "}}", "HTTP/1.1 503 ");
    expect_reply(node, "}}", "HTTP/1.1 503 ");
    world_stop(world);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(requests_at_the_stop_are_recorded_and_answered),
        TEST(a_request_is_refused_if_the_disk_is_full_when_slurm_answers),
    };
    return cmocka_run_group_tests_name("daemon stops", tests, NULL, NULL);
}
