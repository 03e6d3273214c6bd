/* The blocking HTTP client. */
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/http.h"
#include "lib/text.h"
#include "tests/unit/http_server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[32];
static char *socket_path;
static const struct mac_secret secret = {.key = {1, 2, 3}};

static int make_folder(void **state)
{
    (void)state;
    memcpy(folder, "/tmp/phased-test-XXXXXX", sizeof("/tmp/phased-test-XXXXXX"));
    assert_non_null(mkdtemp(folder));
    socket_path = text_format("%s/socket", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    free(socket_path);
    return rmdir(folder);
}

/* The status is the number in the path. The body is that of the request. */
static char *echo(void *context, const char *method, const char *path, const char *body,
                  int *ret_status)
{
    (void)context;
    (void)method;
    *ret_status = (int)strtol(path + 1, NULL, 10);
    return text_format("%s", body);
}

static char *say_hello(void *context, const char *method, const char *path, const char *body,
                       int *ret_status)
{
    (void)context;
    (void)method;
    (void)path;
    (void)body;
    (void)ret_status;
    return text_format("hello");
}

static char *silence(void *context, const char *method, const char *path, const char *body,
                     int *ret_status)
{
    (void)context;
    (void)method;
    (void)path;
    (void)body;
    (void)ret_status;
    return NULL;
}

static void any_status_is_a_reply_and_the_connection_is_kept(void **state)
{
    (void)state;
    const struct http_server_options options = {.socket_path = socket_path, .answer = echo};
    struct http_server *server = http_server_start(&options);
    struct http_client *client = http_client_new_unix("the daemon", socket_path);
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
    assert_int_equal(http_server_connections(server), 1);
    http_server_end(server);
}

static void only_a_signed_reply_answers_a_signed_request(void **state)
{
    (void)state;
    static const struct {
        bool signs, wrongly;
        int result;
    } rows[] = {{true, false, 0}, {true, true, -EBADMSG}, {false, false, -EBADMSG}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct http_server_options options = {
            .secret = rows[i].signs ? &secret : NULL,
            .signs_wrongly = rows[i].wrongly,
            .answer = echo,
        };
        struct http_server *server = http_server_start(&options);
        struct http_reply reply;
        struct error err;
        struct http_client *client =
            http_client_new_tcp("the daemon", "127.0.0.1", http_server_port(server));
        http_client_sign(client, &secret);
        int result = http_request(client, "POST", "/200?x=1", "body", 4, &reply, &err);
        assert_int_equal(result, rows[i].result);
        if (result == 0)
            http_reply_fini(&reply);
        http_client_free(client);
        assert_int_equal(http_server_right_codes(server), rows[i].signs);
        http_server_end(server);
    }
}

static void a_client_of_a_url_adds_the_path_to_the_url(void **state)
{
    (void)state;
    const struct http_server_options options = {.answer = echo};
    struct http_server *server = http_server_start(&options);
    struct http_reply reply;
    struct error err;
    char *url = text_format("http://127.0.0.1:%u/20", http_server_port(server));
    struct http_client *client = http_client_new_url("the collector", url);
    http_client_add_header(client, "authorization", "Basic c2VjcmV0");
    assert_int_equal(http_request(client, "POST", "4", "{}", 2, &reply, &err), 0);
    assert_int_equal(reply.status, 204);
    http_reply_fini(&reply);
    http_client_free(client);
    free(url);
    http_server_end(server);
}

static void a_message_has_no_secret_of_the_url(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"http://127.0.0.1:4318/v1/traces", "http://127.0.0.1:4318/v1/traces"},
        {"https://anna:secret@host:1/x?key=secret#secret", "https://host:1/x"},
        {"http://secret@host/x?key=a@b", "http://host/x"},
        {"http://anna:sec/ret@host/x", "an address that is not valid"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_client *client = http_client_new_url("the collector", cases[i][0]);
        assert_string_equal(http_client_address(client), cases[i][1]);
        http_client_free(client);
    }
}

static void the_message_about_a_peer_that_is_away_has_name_and_reason(void **state)
{
    (void)state;
    const struct http_server_options options = {.socket_path = socket_path, .answer = silence};
    struct http_server *server = http_server_start(&options);
    struct http_reply reply;
    struct error err;
    struct http_client *client = http_client_new_unix("the daemon", socket_path);
    http_client_set_timeouts(client, 100, 100);
    assert_int_equal(http_request(client, "GET", "/200", NULL, 0, &reply, &err), -ETIMEDOUT);
    http_server_end(server);
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

/* A process that is killed closes its connections. The second peer has read the request. */
static void a_peer_that_ends_during_a_request_is_said_to_have_ended(void **state)
{
    (void)state;
    for (int reads = 0; reads < 2; reads++) {
        char *path = text_format("%s/ended%d", folder, reads);
        char *expected = text_format("cannot reach the daemon at %s: it ended, or closed the "
                                     "connection, without an answer",
                                     path);
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        struct http_reply reply;
        struct error err;
        char bytes[4096];
        int code, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_true(fd >= 0 && strlen(path) < sizeof address.sun_path);
        memcpy(address.sun_path, path, strlen(path) + 1);
        assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
        assert_int_equal(listen(fd, 4), 0);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            int peer = accept(fd, NULL, NULL);
            _exit(peer < 0 || recv(peer, bytes, sizeof bytes, reads ? 0 : MSG_PEEK) <= 0);
        }
        struct http_client *client = http_client_new_unix("the daemon", path);
        assert_true(http_request(client, "GET", "/200", NULL, 0, &reply, &err) < 0);
        assert_string_equal(err.message, expected);
        assert_int_equal(waitpid(pid, &code, 0), pid);
        assert_int_equal(code, 0);
        http_client_free(client);
        assert_int_equal(close(fd), 0);
        assert_int_equal(unlink(path), 0);
        free(expected);
        free(path);
    }
}

/* Somebody between the client and the daemon has recorded a connection, with its challenge. */
static void a_recorded_reply_is_refused(void **state)
{
    (void)state;
    const struct http_server_options options = {.socket_path = socket_path,
                                                .secret = &secret,
                                                .encrypts = true,
                                                .replays = true,
                                                .answer = say_hello};
    struct http_server *server = http_server_start(&options);
    for (int i = 0; i < 2; i++) {
        struct http_client *client = http_client_new_unix("the daemon", socket_path);
        struct http_reply reply;
        struct error err;
        http_client_encrypt(client, &secret);
        int status = http_request(client, "GET", "/a", NULL, 0, &reply, &err);
        assert_int_equal(status, i == 0 ? 0 : -EBADMSG); /* the first one is recorded */
        if (status == 0)
            http_reply_fini(&reply);
        http_client_free(client);
    }
    http_server_end(server);
}

static void a_sealed_reply_is_taken_only_as_the_daemon_has_sent_it(void **state)
{
    (void)state;
    static const struct {
        bool signs_wrongly, alters;
        int code;
    } rows[] = {{false, false, 0}, {true, false, -EBADMSG}, {false, true, -EBADMSG}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct http_server_options options = {.socket_path = socket_path,
                                                    .secret = &secret,
                                                    .encrypts = true,
                                                    .signs_wrongly = rows[i].signs_wrongly,
                                                    .alters = rows[i].alters,
                                                    .answer = say_hello};
        struct http_server *server = http_server_start(&options);
        struct http_client *client = http_client_new_unix("the daemon", socket_path);
        struct http_reply reply;
        struct error err;
        http_client_encrypt(client, &secret);
        for (int request = 0; request < 2; request++) {
            assert_int_equal(http_request(client, "GET", "/a", NULL, 0, &reply, &err),
                             rows[i].code);
            if (rows[i].code < 0)
                break;
            assert_string_equal(reply.body, "hello");
            assert_int_equal(reply.body_size, 5);
            http_reply_fini(&reply);
        }
        http_client_free(client);
        assert_int_equal(http_server_connections(server), 1);
        http_server_end(server);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(any_status_is_a_reply_and_the_connection_is_kept),
        TEST(only_a_signed_reply_answers_a_signed_request),
        TEST(a_client_of_a_url_adds_the_path_to_the_url),
        TEST(a_message_has_no_secret_of_the_url),
        TEST(the_message_about_a_peer_that_is_away_has_name_and_reason),
        TEST(a_peer_that_ends_during_a_request_is_said_to_have_ended),
        TEST(a_recorded_reply_is_refused),
        TEST(a_sealed_reply_is_taken_only_as_the_daemon_has_sent_it),
    };
    return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}
