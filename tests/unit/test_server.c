/* How the HTTP server stops if its handler has not answered some requests. */
#include "tests/unit/unit.h"

#include "daemon/api/server.h"
#include "lib/error.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char request[] = "GET / HTTP/1.1\r\nHost: phased\r\n\r\n";

static unsigned handled;

static void handle_later(struct request *waiting, void *context)
{
    (void)waiting;
    (void)context;
    handled++;
}

/* An abstract socket, which leaves no file. */
static int listen_at(struct sockaddr_un *address)
{
    socklen_t size = sizeof *address;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    assert_int_equal(bind(fd, (struct sockaddr *)address, sizeof(sa_family_t)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)address, &size), 0);
    assert_int_equal(listen(fd, 4), 0);
    return fd;
}

static int client_new(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(sizeof(sa_family_t) + 1 + strlen(address->sun_path + 1));
    assert_int_equal(connect(fd, (const struct sockaddr *)address, size), 0);
    return fd;
}

static void client_ask(int fd)
{
    assert_int_equal(write(fd, request, strlen(request)), strlen(request));
}

static void is_closed(void *context)
{
    *(bool *)context = true;
}

static void requests_during_the_stop_are_answered_too(void **state)
{
    (void)state;
    uv_loop_t uv;
    struct sockaddr_un address;
    struct server *server;
    struct error err;
    bool closed = false;
    char answer[64] = "";
    assert_int_equal(uv_loop_init(&uv), 0);
    const struct server_config config = {.uv = &uv,
                                         .listen_fd = listen_at(&address),
                                         .body_max = 1024,
                                         .connections_max = 8,
                                         .owner_only = true,
                                         .handle = handle_later};
    assert_int_equal(server_open(&config, &server, &err), 0);
    int early = client_new(&address), late = client_new(&address);
    client_ask(early);
    while (handled < 1)
        (void)uv_run(&uv, UV_RUN_ONCE);
    client_ask(late); /* the server finds it when it stops */
    server_close(server, is_closed, &closed);
    while (!closed)
        (void)uv_run(&uv, UV_RUN_ONCE);
    assert_int_equal(uv_loop_close(&uv), 0);
    assert_true(read(early, answer, sizeof answer - 1) > 0);
    assert_non_null(strstr(answer, " 503 "));
    memset(answer, 0, sizeof answer);
    assert_true(read(late, answer, sizeof answer - 1) > 0);
    assert_non_null(strstr(answer, " 503 "));
    assert_int_equal(handled, 1);
    (void)close(early);
    (void)close(late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_during_the_stop_are_answered_too),
    };
    return cmocka_run_group_tests_name("server", tests, NULL, NULL);
}
