/* A small HTTP server for tests. */
#include "tests/unit/http_server.h"

#include "tests/unit/unit.h"

#include "lib/text.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { SERVER_CONNECTIONS_MAX = 16 };

struct server_connection {
    int fd;
    struct text text; /* received, but not answered yet */
};

struct http_server {
    struct http_server_options options;
    struct mac_secret secret;
    int listener, stop[2];
    unsigned port;
    pthread_t thread;
    struct server_connection open[SERVER_CONNECTIONS_MAX];
    unsigned count;
    atomic_uint connections, right_codes;
    char first_nonce[MAC_OWNER_NONCE_SIZE]; /* of the first signed reply */
};

/* Returns the value of a header of `request` as a new string. It is empty without the header. */
static char *server_header(const char *request, const char *name)
{
    char *wanted = text_format("\r\n%s: ", name);
    const char *found = strstr(request, wanted);
    found = found ? found + strlen(wanted) : "";
    char *value = text_format("%.*s", (int)strcspn(found, "\r"), found);
    free(wanted);
    return value;
}

static void server_send(int fd, const char *data, size_t size)
{
    while (size) {
        ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return; /* the client is gone */
        data += sent;
        size -= (size_t)sent;
    }
}

static void server_reply(struct http_server *server, int fd, const char *nonce, int status,
                         const char *body)
{
    static const char challenge[] = "0123456789abcdef01234567";
    struct text reply = {0};
    size_t size = strlen(body);
    char *encrypted = NULL;
    bool is_known = !server->options.encrypts || text_starts(nonce, challenge);
    if (!is_known)
        status = 401;
    else if (server->options.encrypts)
        body = encrypted = mac_encrypt(&server->secret, body, size, &size);
    text_addf(&reply, "HTTP/1.1 %d Said\r\nContent-Length: %zu\r\n", status, size);
    if (!is_known)
        text_addf(&reply, MAC_CHALLENGE_HEADER ": %s\r\n", challenge);
    if (server->options.secret && is_known) {
        char mac[MAC_SIZE];
        struct mac_secret secret = server->secret;
        secret.key[0] ^= server->options.signs_wrongly;
        if (!server->first_nonce[0])
            (void)snprintf(server->first_nonce, sizeof server->first_nonce, "%s", nonce);
        if (server->options.replays)
            nonce = server->first_nonce;
        mac_reply(&secret, nonce, status, body, size, mac);
        text_addf(&reply, "phased-mac: %s\r\n", mac);
    }
    text_add(&reply, "\r\n");
    text_add_bytes(&reply, body, size);
    if (server->options.alters && is_known)
        reply.data[reply.size - 1] ^= 1;
    free(encrypted);
    server_send(fd, reply.data, reply.size);
    text_fini(&reply);
}

/* Answers the request in the connection's text, if it is complete. */
static void server_answer(struct http_server *server, struct server_connection *connection)
{
    char method[8], path[256], mac[MAC_SIZE];
    char *head = connection->text.data, *end = strstr(head, "\r\n\r\n");
    char *length = server_header(head, "Content-Length");
    bool is_whole = end && strlen(end + 4) >= (size_t)strtol(length, NULL, 10);
    free(length);
    if (!is_whole)
        return;
    const char *body = end + 4;
    char *nonce = server_header(head, MAC_NONCE_HEADER), *sent = server_header(head, MAC_HEADER);
    assert_int_equal(sscanf(head, "%7s %255s", method, path), 2);
    mac_request(&server->secret, method, path, nonce, body, strlen(body), mac);
    server->right_codes += mac_equal(mac, sent);
    int status = 200;
    char *reply = server->options.answer(server->options.context, method, path, body, &status);
    if (reply)
        server_reply(server, connection->fd, nonce, status, reply);
    free(reply);
    free(nonce);
    free(sent);
    text_clear(&connection->text);
}

static void server_close(struct http_server *server, unsigned i)
{
    close(server->open[i].fd);
    text_fini(&server->open[i].text);
    server->open[i] = server->open[--server->count];
}

static void server_read(struct http_server *server, unsigned i)
{
    char chunk[65536];
    ssize_t size = read(server->open[i].fd, chunk, sizeof(chunk));
    if (size <= 0) {
        server_close(server, i);
        return;
    }
    text_add_bytes(&server->open[i].text, chunk, (size_t)size);
    server_answer(server, &server->open[i]);
}

static void server_accept(struct http_server *server)
{
    assert_true(server->count < SERVER_CONNECTIONS_MAX);
    int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(fd >= 0);
    server->open[server->count++] = (struct server_connection){.fd = fd};
    server->connections++;
}

static void *server_run(void *context)
{
    struct http_server *server = context;
    for (;;) {
        struct pollfd polls[2 + SERVER_CONNECTIONS_MAX] = {
            {.fd = server->stop[0], .events = POLLIN}, {.fd = server->listener, .events = POLLIN}};
        for (unsigned i = 0; i < server->count; i++)
            polls[2 + i] = (struct pollfd){.fd = server->open[i].fd, .events = POLLIN};
        if (poll(polls, 2 + server->count, -1) < 0 || polls[0].revents)
            break;
        /* Backwards, because closing a connection moves the last one into its place. */
        for (unsigned i = server->count; i-- > 0;)
            if (polls[2 + i].revents)
                server_read(server, i);
        if (polls[1].revents)
            server_accept(server);
    }
    while (server->count)
        server_close(server, 0);
    return NULL;
}

static void server_listen(struct http_server *server)
{
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sockaddr_in inet = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(inet);
    const char *path = server->options.socket_path;
    server->listener = socket(path ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (path) {
        memcpy(local.sun_path, path, strlen(path));
        assert_int_equal(bind(server->listener, (void *)&local, sizeof(local)), 0);
    } else {
        assert_int_equal(bind(server->listener, (void *)&inet, sizeof(inet)), 0);
        assert_int_equal(getsockname(server->listener, (void *)&inet, &size), 0);
        server->port = ntohs(inet.sin_port);
    }
    assert_int_equal(listen(server->listener, 5), 0);
}

struct http_server *http_server_start(const struct http_server_options *options)
{
    struct http_server *server = calloc(1, sizeof(*server));
    assert_non_null(server);
    server->options = *options;
    if (options->secret)
        server->secret = *options->secret;
    server_listen(server);
    assert_int_equal(pipe2(server->stop, O_CLOEXEC), 0);
    assert_int_equal(pthread_create(&server->thread, NULL, server_run, server), 0);
    return server;
}

void http_server_end(struct http_server *server)
{
    close(server->stop[1]);
    assert_int_equal(pthread_join(server->thread, NULL), 0);
    close(server->stop[0]);
    close(server->listener);
    if (server->options.socket_path)
        unlink(server->options.socket_path);
    free(server);
}

unsigned http_server_port(const struct http_server *server)
{
    return server->port;
}

unsigned http_server_connections(const struct http_server *server)
{
    return server->connections;
}

unsigned http_server_right_codes(const struct http_server *server)
{
    return server->right_codes;
}
