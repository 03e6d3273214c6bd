/* Peers that the daemon does not know: idle, slow, many, greedy, malformed. The daemon still
 * answers its owner and its workers, and stays small. */
#include "tests/unit/daemon_world.h"

#include "lib/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static const char one_phase[] = "name: one\n"
                                "phases:\n"
                                "  a:\n"
                                "    resources: {nodes: 1, gpus: 2, time: 10m}\n"
                                "    run: echo\n";

#define HEX32 "0123456789abcdef0123456789abcdef"

static int connect_owner(struct world *world)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/phased.sock", world->home);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static struct sockaddr_in worker_address(struct world *world)
{
    char *text = world_read(world, "daemon.json");
    json_t *json = json_loads(text, 0, NULL);
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)json_integer_value(json_object_get(json, "port"))),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_not_equal(address.sin_port, 0);
    json_decref(json);
    free(text);
    return address;
}

/* -1: the connection is not possible now. Never waits. */
static int connect_worker(const struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 || errno == EINPROGRESS)
        return fd;
    close(fd);
    return -1;
}

/* Returns the answer until the other side closes or `until` has come; the caller's to free(). */
static char *ask(int fd, const void *request, size_t size, const char *until)
{
    struct text reply = {0};
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    ssize_t count = 1;
    assert_int_equal(send(fd, request, size, MSG_NOSIGNAL), size);
    while (count > 0 && !(until && strstr(text_string(&reply), until)) &&
           poll(&readable, 1, WORLD_DEADLINE_MS) == 1) {
        char buffer[4096];
        count = recv(fd, buffer, sizeof buffer, 0);
        text_add_bytes(&reply, buffer, count > 0 ? (size_t)count : 0);
    }
    close(fd);
    return text_steal(&reply);
}

static void assert_answers(struct world *world)
{
    json_decref(world_expect(world, 200, "GET", "/v1/ping", NULL));
}

static void the_server_listens_after_many_idle_connections_end(void **state)
{
    struct world *world = *state;
    enum { MANY = 300 };
    int fds[MANY];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++)
            fds[i] = connect_owner(world);
        assert_answers(world);
        for (int i = 0; i < MANY; i++)
            close(fds[i]);
        assert_answers(world);
    }
    world_stop(world);
}

/* Also connections of the owner that were answered and stay open. */
static void the_server_listens_after_many_answered_connections_end(void **state)
{
    struct world *world = *state;
    static const char ping[] = "GET /v1/ping HTTP/1.1\r\nHost: x\r\n\r\n";
    enum { ALL = 256 }; /* as many as the daemon allows */
    int fds[ALL];
    for (int i = 0; i < ALL; i++) {
        int kept = fds[i] = connect_owner(world);
        free(ask(dup(kept), ping, sizeof ping - 1, "}}"));
    }
    int waiting = connect_owner(world);
    assert_int_equal(send(waiting, ping, sizeof ping - 1, MSG_NOSIGNAL), sizeof ping - 1);
    for (int i = 0; i < ALL; i++)
        close(fds[i]);
    free(ask(waiting, "", 0, "}}"));
    assert_answers(world);
    world_stop(world);
}

static void the_server_works_with_few_descriptors(void **state)
{
    struct world *world = *state;
    enum { FEW = 40, MANY = 60 };
    struct rlimit limit, few;
    int fds[2 * MANY];
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    few = (struct rlimit){FEW, limit.rlim_max};
    world_stop(world);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    world_start(world, NULL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    struct sockaddr_in address = worker_address(world);
    for (int i = 0; i < MANY; i++) {
        fds[2 * i] = connect_worker(&address);
        fds[2 * i + 1] = connect_owner(world);
        if (i % 10 == 0)
            assert_answers(world);
    }
    for (int i = 0; i < 2 * MANY; i++)
        close(fds[i]);
    json_decref(
        world_expect(world, 201, "POST", "/v1/workflows", world_submission(one_phase, NULL)));
    world_await_lines(world, "jobs", 1);
    world_stop(world);
}

/* --- A flood ---------------------------------------------------------------------------------- */

enum { FLOOD_MANY = 10000, FLOOD_OPEN_MAX = 4000, KINDS = 4 };

struct flood {
    struct sockaddr_in address;
    int fds[FLOOD_OPEN_MAX]; /* the oldest connection is closed for the next */
    unsigned sent[FLOOD_OPEN_MAX];
    unsigned open_max, count;
};

/* Sends the next few bytes of this kind: nothing; a header that never ends; a large body by
 * somebody who knows what a request looks like; nonsense. */
static void flood_send(struct flood *flood, unsigned slot, unsigned kind)
{
    static const char body[65536];
    static const char head[] =
        "POST /v1/worker/1/journal HTTP/1.1\r\nHost: x\r\n"
        "Content-Length: 8000000\r\nPhased-Nonce: " HEX32 "\r\nPhased-MAC: " HEX32 HEX32 "\r\n\r\n";
    static const char slow[] = "GET /v1/worker/1/command HTTP/1.1\r\nX: ";
    int fd = flood->fds[slot];
    unsigned at = flood->sent[slot]++;
    ssize_t ignored = 0;
    if (kind == 1)
        ignored = send(fd, at < sizeof slow - 1 ? &slow[at] : "x", 1, MSG_NOSIGNAL);
    else if (kind == 2 && at == 0)
        ignored = send(fd, head, sizeof head - 1, MSG_NOSIGNAL);
    else if (kind == 2)
        ignored = send(fd, body, sizeof body, MSG_NOSIGNAL);
    else if (kind == 3)
        ignored = send(fd, body, 512, MSG_NOSIGNAL);
    (void)ignored; /* the daemon may have closed it, or accept no more now */
}

/* Opens some more connections, and sends more on the open ones. */
static void flood_go_on(struct flood *flood)
{
    for (unsigned i = 0; i < 100 && flood->count < FLOOD_MANY; i++) {
        int fd = connect_worker(&flood->address);
        unsigned slot = flood->count % flood->open_max;
        if (fd < 0)
            break;
        if (flood->count >= flood->open_max)
            close(flood->fds[slot]);
        flood->fds[slot] = fd;
        flood->sent[slot] = 0;
        flood->count++;
    }
    unsigned open = flood->count < flood->open_max ? flood->count : flood->open_max;
    for (unsigned slot = 0; slot < open; slot++)
        flood_send(flood, slot, slot % KINDS);
}

static double clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double slower(double one_ms, double other_ms)
{
    return one_ms > other_ms ? one_ms : other_ms;
}

/* Returns how long the owner waits for the answer that phasectl status needs. */
static double status_ms(struct world *world)
{
    double before_ms = clock_ms();
    json_decref(world_expect(world, 200, "GET", "/v1/workflows", NULL));
    return clock_ms() - before_ms;
}

/* Prints how long the owner waits, and asserts nothing about it, because a busy machine delays
 * everybody. `strangers` of tests/bench/run reads the line and compares the time with its limit. */
static void ten_thousand_strangers_delay_nobody_and_take_little_memory(void **state)
{
    struct world *world = *state;
    static struct flood flood;
    struct rlimit limit;
    double idle_ms = 0, worst_ms = 0, push_ms = 0;
    long pushed = 0;
    json_decref(
        world_expect(world, 201, "POST", "/v1/workflows", world_submission(one_phase, NULL)));
    world_await_lines(world, "jobs", 1);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    for (int i = 0; i < 100; i++)
        idle_ms = slower(idle_ms, status_ms(world));
    rlim_t room = limit.rlim_cur / 2;
    flood = (struct flood){.address = worker_address(world),
                           .open_max = room < FLOOD_OPEN_MAX ? (unsigned)room : FLOOD_OPEN_MAX};
    for (double deadline_ms = clock_ms() + WORLD_DEADLINE_MS * 5;
         flood.count < FLOOD_MANY && clock_ms() < deadline_ms;) {
        flood_go_on(&flood);
        worst_ms = slower(worst_ms, status_ms(world));
        /* A worker may be dropped together with strangers, and then tries again. */
        if (flood.count < (unsigned long)(pushed + 1) * FLOOD_MANY / 10)
            continue;
        char *entry = text_format("{\"seq\":%ld,\"time\":1,\"type\":\"warning\",\"message\":\"m\"}",
                                  pushed + 1);
        double before_ms = clock_ms();
        pushed = world_push(world, "runs/1/a/1", "n1", (const char *const[]){entry, NULL});
        push_ms = slower(push_ms, clock_ms() - before_ms);
        free(entry);
        assert_true(pushed >= 0);
    }
    long peak_kib = world_memory_kib(world);
    print_message("# %u connections: the owner is answered within %.1f ms, alone within %.1f ms; "
                  "a worker within %.1f ms; VmHWM %ld KiB\n",
                  flood.count, worst_ms, idle_ms, push_ms, peak_kib);
    assert_int_equal(flood.count, FLOOD_MANY);
    assert_true(pushed > 0);
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    assert_in_range(peak_kib, 1, 100000);
#endif
    for (unsigned i = 0; i < flood.open_max; i++)
        close(flood.fds[i]);
    assert_answers(world);
    world_stop(world);
}

/* A byte now and then does not keep a connection open. */
static void more_bytes_do_not_move_the_deadline_of_a_header(void **state)
{
    struct world *world = *state;
    struct sockaddr_in address = worker_address(world);
    int fd = connect_worker(&address);
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    char end;
    ssize_t count = -1;
    assert_true(fd >= 0);
    for (double deadline_ms = clock_ms() + WORLD_DEADLINE_MS; clock_ms() < deadline_ms;) {
        (void)send(fd, "G", 1, MSG_NOSIGNAL); /* it may be closed by now */
        if (poll(&readable, 1, 50) == 1 && (count = recv(fd, &end, 1, 0)) <= 0)
            break;
    }
    assert_true(count <= 0 && poll(&readable, 1, 0) == 1);
    close(fd);
    world_stop(world);
}

/* --- Ambiguous requests ----------------------------------------------------------------------- */

static void an_ambiguous_request_is_refused(void **state)
{
    struct world *world = *state;
    struct text many = {0};
    text_add(&many, "GET /v1/ping?");
    for (int i = 0; i < 500; i++)
        text_addf(&many, "&a%d=%d?", i, i);
    text_add(&many, " HTTP/1.1\r\nHost: x\r\n\r\n");
    const char *const requests[] = {
        text_string(&many),
        "GET /v1/ping%00x HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /v1/events?wait=0&after=1%00 HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST /v1/plan HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
        "POST /v1/plan HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\ncontent-length: 9\r\n\r\n{}",
        "POST /v1/plan HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
        "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        "POST /v1/plan HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
        "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        "POST /v1/plan HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n{}",
    };
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        char *reply = ask(connect_owner(world), requests[i], strlen(requests[i]), "}}");
        /* libmicrohttpd 1.0 itself answers an unknown coding, with 501. */
        bool is_coding = strstr(requests[i], "gzip") && text_starts(reply, "HTTP/1.1 501");
        if (!text_starts(reply, "HTTP/1.1 400") && !is_coding)
            fail_msg("%.80s was answered %s", requests[i], reply);
        free(reply);
    }
    text_fini(&many);
    assert_answers(world);
    world_stop(world);
}

struct raw_request {
    const char *bytes;
    size_t size;
};

/* With the NULs inside. */
#define RAW(string)                                                                                \
    {                                                                                              \
        string "\r\n\r\n", sizeof string + 3                                                       \
    }

/* Returns the answer before the body; the caller's to free(). */
static char *ask_raw(struct world *world, bool as_owner, const struct raw_request *request)
{
    const struct sockaddr_in address = worker_address(world);
    int fd = as_owner ? connect_owner(world) : socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (!as_owner)
        assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    return ask(fd, request->bytes, request->size, "\r\n\r\n");
}

/* libmicrohttpd 1.0 itself refuses a NUL, and may do so without an answer. */
static bool is_refused(const char *reply)
{
    return reply[0] == '\0' || text_starts(reply, "HTTP/1.1 400");
}

static void a_nul_in_the_request_line_is_refused(void **state)
{
    struct world *world = *state;
    static const struct raw_request requests[] = {
        RAW("GET /v1/ping\0x HTTP/1.1\r\nHost: x"),
        RAW("GET /v1/ping\0 HTTP/1.1\r\nHost: x"),
        RAW("GET /v1/ping\0HTTP/1.1 HTTP/1.1\r\nHost: x"),
        RAW("GET /v1/ping?a=1\0&b=2 HTTP/1.1\r\nHost: x"),
        RAW("GET /v1/worker/1/command\0 HTTP/1.1\r\nHost: x"),
        RAW("GET\0 /v1/ping HTTP/1.1\r\nHost: x"),
        RAW("\0GET /v1/ping HTTP/1.1\r\nHost: x"),
        RAW("GET /v1/ping HTTP/1.1\0\r\nHost: x"),
        RAW("GET /v1/ping HTTP/1.1\r\nHost\0: x"),
    };
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        for (int as_owner = 0; as_owner < 2; as_owner++) {
            char *reply = ask_raw(world, as_owner, &requests[i]);
            if (!is_refused(reply))
                fail_msg("request %zu was answered %s", i, reply);
            free(reply);
        }
    assert_answers(world);
    world_stop(world);
}

/* libmicrohttpd 0.9 cuts such a value, for itself and for the daemon. So nobody reads it in two
 * ways. */
static void a_nul_in_the_value_of_a_header_gives_no_right(void **state)
{
    struct world *world = *state;
    static const struct {
        struct raw_request request;
        const char *as_owner, *as_worker;
    } rows[] = {
        {RAW("GET /v1/ping HTTP/1.1\r\nHost: x\0y"), "200", "401"},
        {RAW("GET /v1/ping HTTP/1.1\r\nHost: x\r\nContent-Length: 0\0009"), "200", "401"},
        {RAW("POST /v1/plan HTTP/1.1\r\nHost: x\r\nContent-Length: 0\0\r\nContent-Length: 9"),
         "400", "400"},
        {RAW("POST /v1/plan HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\0x\r\n"
             "Content-Length: 9"),
         "400", "400"},
        {RAW("GET /v1/worker/1/command HTTP/1.1\r\nHost: x\r\nPhased-Nonce: " HEX32
             "\0\r\nPhased-MAC: " HEX32 HEX32 "\0"),
         "404", "403"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int as_owner = 0; as_owner < 2; as_owner++) {
            char *reply = ask_raw(world, as_owner, &rows[i].request);
            const char *status = as_owner ? rows[i].as_owner : rows[i].as_worker;
            bool is_cut = text_starts(reply, "HTTP/1.1 ") && text_starts(reply + 9, status);
            if (!is_cut && !is_refused(reply))
                fail_msg("request %zu was answered %s", i, reply);
            free(reply);
        }
    assert_answers(world);
    world_stop(world);
}

/* The daemon spends neither memory nor time on a peer that cannot be a worker. */
static void a_stranger_is_refused_before_its_body(void **state)
{
    struct world *world = *state;
    static const char signature[] = "Phased-Nonce: " HEX32 "\r\nPhased-MAC: " HEX32 HEX32 "\r\n";
    const struct {
        const char *path, *headers, *answer;
    } cases[] = {
        {"/v1/worker/1/journal", "", "HTTP/1.1 403"},
        {"/v1/worker/1/journal", "Phased-Nonce: " HEX32 "\r\n", "HTTP/1.1 403"},
        {"/v1/worker/1/journal", "Phased-MAC: " HEX32 HEX32 "\r\n", "HTTP/1.1 403"},
        {"/v1/worker/2/journal", signature, "HTTP/1.1 403"}, /* there is no such run */
        {"/v1/worker/1/elephant", signature, "HTTP/1.1 404"},
        {"/v1/worker/1/command", signature, "HTTP/1.1 405"},
    };
    json_decref(
        world_expect(world, 201, "POST", "/v1/workflows", world_submission(one_phase, NULL)));
    world_await_lines(world, "jobs", 1);
    struct sockaddr_in address = worker_address(world);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *head = text_format("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n%s\r\n",
                                 cases[i].path, cases[i].headers);
        int fd = connect_worker(&address);
        struct pollfd writable = {.fd = fd, .events = POLLOUT};
        assert_int_equal(poll(&writable, 1, WORLD_DEADLINE_MS), 1);
        char *reply = ask(fd, head, strlen(head), NULL); /* until the daemon closes */
        if (!text_starts(reply, cases[i].answer))
            fail_msg("%s was answered %s", head, reply);
        free(reply);
        free(head);
    }
    world_stop(world);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_server_listens_after_many_idle_connections_end),
        TEST(the_server_listens_after_many_answered_connections_end),
        TEST(the_server_works_with_few_descriptors),
        TEST(ten_thousand_strangers_delay_nobody_and_take_little_memory),
        TEST(more_bytes_do_not_move_the_deadline_of_a_header),
        TEST(an_ambiguous_request_is_refused),
        TEST(a_nul_in_the_request_line_is_refused),
        TEST(a_nul_in_the_value_of_a_header_gives_no_right),
        TEST(a_stranger_is_refused_before_its_body),
    };
    return cmocka_run_group_tests_name("daemon_hostile", tests, NULL, NULL);
}
