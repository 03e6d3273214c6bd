/* Non-blocking TCP with deadlines. */
#include "worker/model/wire.h"

#include "lib/clock.h"
#include "lib/error.h"
#include "worker/model/stop.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    RETRY_MS = 100,        /* between two attempts to connect */
    KEEPALIVE_IDLE_S = 10, /* a machine is gone after 10 s of silence ... */
    KEEPALIVE_EVERY_S = 5, /* ... and 4 probes without an answer */
    KEEPALIVE_COUNT = 4,
};

/* Waits for the socket. Returns 0 if it is ready, -ETIMEDOUT, or -EINTR if a signal came. */
static int wait_for(int fd, short events, int64_t deadline_ms)
{
    int64_t left = deadline_ms - clock_steady_ms();
    if (left <= 0)
        return -ETIMEDOUT;
    struct pollfd wait = {.fd = fd, .events = events};
    int ready = poll(&wait, 1, left > 60000 ? 60000 : (int)left);
    if (ready < 0)
        return -errno;
    return ready > 0 || clock_steady_ms() < deadline_ms ? 0 : -ETIMEDOUT;
}

static int resolve(const char *address, const char *port, int flags, struct addrinfo **ret_list,
                   struct error *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV};
    int status = getaddrinfo(address, port, &hints, ret_list);
    if (status != 0)
        return error_set(err, -EADDRNOTAVAIL, "could not resolve MASTER_ADDR %s port %s: %s",
                         address, port, gai_strerror(status));
    return 0;
}

/* Sends small messages at once, and lets keepalive notice a dead machine, which closes nothing.
 * Keepalive sends no probes while data is not acknowledged. TCP_USER_TIMEOUT is not used, because
 * it would also end the connection to a peer that is alive and reads late. */
static void tune(int fd)
{
    const struct {
        int level, name, value;
    } rows[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1},
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S},
        {IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_EVERY_S},
        {IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_COUNT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) /* a refusal only costs speed */
        (void)setsockopt(fd, rows[i].level, rows[i].name, &rows[i].value, sizeof rows[i].value);
}

/* Binds a numeric address as it is. A name may mean the loopback address on this machine (Debian's
 * 127.0.1.1) and another address on the others, so for a name all interfaces are used. */
int wire_listen(const char *address, const char *port, struct error *err)
{
    struct addrinfo *list, hints = {.ai_flags = AI_NUMERICHOST};
    bool numeric = getaddrinfo(address, NULL, &hints, &list) == 0;
    if (numeric)
        freeaddrinfo(list);
    int status = resolve(numeric ? address : NULL, port, AI_PASSIVE, &list, err);
    if (status < 0)
        return status;
    int fd = socket(list->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int yes = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) < 0 ||
        bind(fd, list->ai_addr, list->ai_addrlen) < 0 || listen(fd, SOMAXCONN) < 0) {
        status = error_set(err, -errno, "cannot listen on MASTER_ADDR %s port %s: %s", address,
                           port, strerror(errno));
        if (fd >= 0)
            (void)close(fd); /* nothing was sent */
        fd = status;
    }
    freeaddrinfo(list);
    return fd;
}

int wire_accept(int listener, int64_t deadline_ms, struct error *err)
{
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            tune(fd);
            return fd;
        }
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
            return error_set(err, -errno, "cannot accept a rank: %s", strerror(errno));
        if (stop_is_wanted())
            return error_set(err, -EINTR, "stopped while waiting for the other ranks");
        if (wait_for(listener, POLLIN, deadline_ms) == -ETIMEDOUT)
            return error_set(err, -ETIMEDOUT, "timed out");
    }
}

/* Whether the socket is connected to itself. That can happen if nobody listens at a port of this
 * machine: the kernel may pick the same port for the socket, so that connect() succeeds. */
static bool is_own_echo(int fd)
{
    struct sockaddr_storage own = {0}, peer = {0};
    socklen_t own_size = sizeof own, peer_size = sizeof peer;
    return getsockname(fd, (struct sockaddr *)&own, &own_size) == 0 &&
           getpeername(fd, (struct sockaddr *)&peer, &peer_size) == 0 && own_size == peer_size &&
           memcmp(&own, &peer, own_size) == 0;
}

static int connect_once(const struct addrinfo *to, int64_t deadline_ms)
{
    int fd = socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    int status = connect(fd, to->ai_addr, to->ai_addrlen) < 0 ? -errno : 0;
    if (status == -EINPROGRESS) {
        int code = 0;
        socklen_t size = sizeof code;
        status = wait_for(fd, POLLOUT, deadline_ms);
        if (status == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) == 0)
            status = -code;
    }
    if (status == 0 && is_own_echo(fd))
        status = -ECONNREFUSED;
    if (status < 0) {
        (void)close(fd); /* nothing was sent */
        return status;
    }
    tune(fd);
    return fd;
}

int wire_connect(const char *address, const char *port, int64_t deadline_ms, struct error *err)
{
    struct addrinfo *list;
    int status = resolve(address, port, 0, &list, err);
    if (status < 0)
        return status;
    for (;;) {
        for (struct addrinfo *to = list; to; to = to->ai_next) {
            status = connect_once(to, deadline_ms);
            if (status >= 0)
                goto out;
        }
        if (stop_is_wanted()) {
            status = error_set(err, -EINTR, "stopped while waiting for rank 0");
            goto out;
        }
        if (clock_steady_ms() + RETRY_MS >= deadline_ms) {
            status = error_set(err, -ETIMEDOUT, "could not connect to rank 0 at %s port %s: %s",
                               address, port, strerror(-status));
            goto out;
        }
        (void)poll(NULL, 0, RETRY_MS); /* a signal may end the pause early */
    }
out:
    freeaddrinfo(list);
    return status;
}

static int say_lost(int code, const char *peer, struct error *err)
{
    if (code == -ETIMEDOUT)
        return error_set(err, code, "%s did not answer in time", peer);
    if (code == -ECONNRESET || code == -EPIPE)
        return error_set(err, -ECONNRESET, "%s is gone: it closed its connection", peer);
    return error_set(err, code, "lost %s: %s", peer, strerror(-code));
}

int wire_send(int fd, const void *data, size_t size, int64_t deadline_ms, const char *peer,
              struct error *err)
{
    const char *at = data;
    while (size) {
        ssize_t sent = send(fd, at, size, MSG_NOSIGNAL);
        int status = sent < 0 ? -errno : 0;
        if (status == -EAGAIN)
            status = wait_for(fd, POLLOUT, deadline_ms);
        if (status < 0 && status != -EINTR)
            return say_lost(status, peer, err);
        if (sent > 0) {
            at += sent;
            size -= (size_t)sent;
        }
    }
    return 0;
}

int wire_receive(int fd, void *data, size_t size, int64_t deadline_ms, const char *peer,
                 struct error *err)
{
    char *at = data;
    while (size) {
        ssize_t got = recv(fd, at, size, 0);
        int status = got < 0 ? -errno : 0;
        if (got == 0)
            status = -ECONNRESET;
        if (status == -EAGAIN)
            status = wait_for(fd, POLLIN, deadline_ms);
        if (status < 0 && status != -EINTR)
            return say_lost(status, peer, err);
        if (got > 0) {
            at += got;
            size -= (size_t)got;
        }
    }
    return 0;
}
