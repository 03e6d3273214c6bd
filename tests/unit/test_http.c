/* The blocking HTTP client, against a server of one thread that answers what its row says. */
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/http.h"
#include "lib/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum answer { ANSWER_PLAIN, ANSWER_SIGNED, ANSWER_SIGNED_WRONG, ANSWER_NOTHING };

struct server {
    char folder[32];
    char *socket_path;
    int listener, stop[2];
    pthread_t thread;
    enum answer answer;
    struct mac_secret secret;
    int connections; /* read after the thread has ended */
    int right_codes;
};

static void write_all(int fd, const char *data, size_t size)
{
    while (size) {
        ssize_t written = send(fd, data, size, MSG_NOSIGNAL);
        if (written <= 0)
            return;
        data += written;
        size -= (size_t)written;
    }
}

/* The value of a header of `request` in a new string; empty when it is absent. */
static char *header_of(const char *request, const char *name)
{
    char *wanted = text_format("\r\n%s: ", name);
    const char *found = strstr(request, wanted);
    found = found ? found + strlen(wanted) : "";
    char *value = text_format("%.*s", (int)strcspn(found, "\r"), found);
    free(wanted);
    return value;
}

/* The status is the number in the path, the reply's body that of the request. */
static void server_answer(struct server *server, int fd, const char *request, const char *body)
{
    char method[8], path[64], mac[MAC_SIZE] = "", *nonce = header_of(request, MAC_NONCE_HEADER);
    char *sent = header_of(request, MAC_HEADER);
    assert_int_equal(sscanf(request, "%7s %63s", method, path), 2);
    int status = (int)strtol(path + 1, NULL, 10);
    mac_request(&server->secret, method, path, nonce, body, strlen(body), mac);
    server->right_codes += mac_equal(mac, sent);
    struct mac_secret secret = server->secret;
    if (server->answer == ANSWER_SIGNED_WRONG)
        secret.key[0] ^= 1;
    mac_reply(&secret, nonce, status, body, strlen(body), mac);
    char *reply = text_format("HTTP/1.1 %d Said\r\nContent-Length: %zu\r\n%s%s%s\r\n%s", status,
                              strlen(body), server->answer == ANSWER_PLAIN ? "" : "phased-mac: ",
                              server->answer == ANSWER_PLAIN ? "" : mac,
                              server->answer == ANSWER_PLAIN ? "" : "\r\n", body);
    if (server->answer != ANSWER_NOTHING)
        write_all(fd, reply, strlen(reply));
    free(reply);
    free(sent);
    free(nonce);
}

/* Serves one connection until its end or until the server is told to stop. */
static void server_connection(struct server *server, int fd)
{
    struct text text = {0};
    struct pollfd polls[] = {{.fd = fd, .events = POLLIN},
                             {.fd = server->stop[0], .events = POLLIN}};
    while (poll(polls, 2, -1) > 0 && !polls[1].revents) {
        char chunk[4096];
        ssize_t size = read(fd, chunk, sizeof(chunk));
        if (size <= 0)
            break;
        text_add_bytes(&text, chunk, (size_t)size);
        char *end = strstr(text.data, "\r\n\r\n");
        if (!end)
            continue;
        char *length = header_of(text.data, "Content-Length");
        size_t wanted = (size_t)strtol(length, NULL, 10);
        free(length);
        if (strlen(end + 4) < wanted)
            continue;
        server_answer(server, fd, text.data, end + 4);
        text_clear(&text);
    }
    text_fini(&text);
    close(fd);
}

static void *server_run(void *context)
{
    struct server *server = context;
    for (;;) {
        struct pollfd polls[] = {{.fd = server->listener, .events = POLLIN},
                                 {.fd = server->stop[0], .events = POLLIN}};
        if (poll(polls, 2, -1) < 0 || polls[1].revents)
            return NULL;
        int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
        server->connections++;
        server_connection(server, fd);
    }
}

static void server_start(struct server *server, enum answer answer)
{
    *server = (struct server){.folder = "/tmp/phased-test-XXXXXX", .answer = answer};
    assert_non_null(mkdtemp(server->folder));
    server->socket_path = text_format("%s/socket", server->folder);
    for (size_t i = 0; i < sizeof(server->secret.key); i++)
        server->secret.key[i] = (unsigned char)(3 * i);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, server->socket_path, strlen(server->socket_path));
    server->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server->listener, (void *)&address, sizeof(address)), 0);
    assert_int_equal(listen(server->listener, 5), 0);
    assert_int_equal(pipe2(server->stop, O_CLOEXEC), 0);
    assert_int_equal(pthread_create(&server->thread, NULL, server_run, server), 0);
}

static void server_end(struct server *server)
{
    close(server->stop[1]);
    assert_int_equal(pthread_join(server->thread, NULL), 0);
    close(server->stop[0]);
    close(server->listener);
    unlink(server->socket_path);
    rmdir(server->folder);
    free(server->socket_path);
}

static void any_status_is_a_reply_and_the_connection_is_kept(void **state)
{
    (void)state;
    struct server server;
    server_start(&server, ANSWER_PLAIN);
    struct http_client *client = http_client_new_unix("the daemon", server.socket_path);
    for (int status = 200; status <= 500; status += 100) {
        struct http_reply reply;
        struct error err;
        char *path = text_format("/%d", status);
        assert_int_equal(http_request(client, "POST", path, "{\"a\": 1}", 8, &reply, &err), 0);
        assert_int_equal(reply.status, status);
        assert_string_equal(reply.body, "{\"a\": 1}");
        assert_string_equal(reply.mac, "");
        http_reply_fini(&reply);
        assert_int_equal(http_request(client, "GET", path, NULL, 0, &reply, &err), 0);
        assert_string_equal(reply.body, "");
        http_reply_fini(&reply);
        free(path);
    }
    http_client_free(client);
    server_end(&server);
    assert_int_equal(server.connections, 1);
}

static void signed_requests_are_answered_by_signed_replies_only(void **state)
{
    (void)state;
    static const struct {
        enum answer answer;
        int result;
    } rows[] = {
        {ANSWER_SIGNED, 0},
        {ANSWER_SIGNED_WRONG, -EBADMSG},
        {ANSWER_PLAIN, -EBADMSG},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct server server;
        struct http_reply reply;
        struct error err;
        server_start(&server, rows[i].answer);
        struct http_client *client = http_client_new_unix("the daemon", server.socket_path);
        http_client_sign(client, &server.secret);
        int result = http_request(client, "POST", "/200?x=1", "body", 4, &reply, &err);
        assert_int_equal(result, rows[i].result);
        if (result == 0)
            http_reply_fini(&reply);
        http_client_free(client);
        server_end(&server);
        assert_int_equal(server.right_codes, 1);
    }
}

static void a_peer_that_is_away_is_named_with_the_reason(void **state)
{
    (void)state;
    struct server server;
    struct http_reply reply;
    struct error err;
    server_start(&server, ANSWER_NOTHING);
    struct http_client *client = http_client_new_unix("the daemon", server.socket_path);
    http_client_set_timeouts(client, 100, 100);
    assert_int_equal(http_request(client, "GET", "/200", NULL, 0, &reply, &err), -ETIMEDOUT);
    server_end(&server);
    http_client_free(client);

    client = http_client_new_unix("the daemon", "/nowhere/phased.sock");
    assert_int_equal(http_request(client, "GET", "/200", NULL, 0, &reply, &err), -ENOENT);
    assert_string_equal(err.message, "cannot reach the daemon at /nowhere/phased.sock: "
                                     "no such file or directory");
    http_client_free(client);

    client = http_client_new_tcp("the daemon", "127.0.0.1", 1);
    assert_int_equal(http_request(client, "GET", "/200", NULL, 0, &reply, &err), -ECONNREFUSED);
    assert_string_equal(err.message, "cannot reach the daemon at 127.0.0.1:1: connection refused");
    http_client_free(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_status_is_a_reply_and_the_connection_is_kept),
        cmocka_unit_test(signed_requests_are_answered_by_signed_replies_only),
        cmocka_unit_test(a_peer_that_is_away_is_named_with_the_reason),
    };
    return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}
