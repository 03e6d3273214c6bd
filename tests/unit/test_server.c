/* How the HTTP server stops if its handler has not answered some requests, and how long a header
 * may be. */
#include "tests/unit/unit.h"

#include "daemon/api/server.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <stdio.h>
#include <stdlib.h>
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

static void handle_now(struct request *asking, void *context)
{
    (void)context;
    request_reply_json(asking, 200, json_object());
}

static void client_ask(int fd)
{
    assert_int_equal(write(fd, request, strlen(request)), strlen(request));
}

static void is_closed(void *context)
{
    *(bool *)context = true;
}

static struct server *begin(uv_loop_t *uv, struct sockaddr_un *address,
                            void (*handle)(struct request *asking, void *context))
{
    struct server *server;
    struct error err;
    assert_int_equal(uv_loop_init(uv), 0);
    const struct server_config config = {.uv = uv,
                                         .listen_fd = listen_at(address),
                                         .body_max = 1024,
                                         .connections_max = 8,
                                         .owner_only = true,
                                         .handle = handle};
    assert_int_equal(server_open(&config, &server, &err), 0);
    return server;
}

/* Closes the server, and waits for its last connection. */
static void end(uv_loop_t *uv, struct server *server)
{
    bool closed = false;
    server_close(server, is_closed, &closed);
    while (!closed)
        (void)uv_run(uv, UV_RUN_ONCE);
    assert_int_equal(uv_loop_close(uv), 0);
}

static void requests_during_the_stop_are_answered_too(void **state)
{
    (void)state;
    uv_loop_t uv;
    struct sockaddr_un address;
    char answer[64] = "";
    struct server *server = begin(&uv, &address, handle_later);
    int early = client_new(&address), late = client_new(&address);
    client_ask(early);
    while (handled < 1)
        (void)uv_run(&uv, UV_RUN_ONCE);
    client_ask(late); /* the server finds it when it stops */
    end(&uv, server);
    assert_true(read(early, answer, sizeof answer - 1) > 0);
    assert_non_null(strstr(answer, " 503 "));
    memset(answer, 0, sizeof answer);
    assert_true(read(late, answer, sizeof answer - 1) > 0);
    assert_non_null(strstr(answer, " 503 "));
    assert_int_equal(handled, 1);
    (void)close(early);
    (void)close(late);
}

/* The status of the reply to a request with a field of this size. */
static int status_with(uv_loop_t *uv, const struct sockaddr_un *address, int size)
{
    char answer[64] = "";
    char *field = xmalloc((size_t)size + 1);
    memset(field, 'a', (size_t)size);
    field[size] = '\0';
    char *text = text_format("GET / HTTP/1.1\r\nHost: phased\r\nX: %s\r\n\r\n", field);
    int fd = client_new(address), status = 0;
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    while (recv(fd, answer, sizeof answer - 1, MSG_DONTWAIT) < 0)
        (void)uv_run(uv, UV_RUN_ONCE);
    assert_int_equal(sscanf(answer, "HTTP/1.1 %d", &status), 1);
    (void)close(fd);
    free(field);
    free(text);
    return status;
}

static void a_header_has_at_most_32_kib(void **state)
{
    (void)state;
    uv_loop_t uv;
    struct sockaddr_un address;
    struct server *server = begin(&uv, &address, handle_now);
    assert_int_equal(status_with(&uv, &address, 31 << 10), 200);
    assert_int_equal(status_with(&uv, &address, 33 << 10), 431);
    end(&uv, server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_header_has_at_most_32_kib),
        cmocka_unit_test(requests_during_the_stop_are_answered_too),
    };
    return cmocka_run_group_tests_name("server", tests, NULL, NULL);
}
