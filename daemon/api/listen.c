/* The sockets of the API. */
#include "daemon/api/listen.h"

#include "lib/error.h"
#include "lib/home.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 1024 }; /* enough for a job array that starts all at once */

static int listen_fail(int fd, const char *what, struct error *err)
{
    int code = -errno;
    if (fd >= 0)
        (void)close(fd); /* nothing was sent over it */
    return error_set(err, code, "could not listen on %s: %s", what, strerror(-code));
}

int listen_unix(struct home *home, struct error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int status = home_socket_address(home, address.sun_path, err);
    if (status < 0)
        return status;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return listen_fail(fd, home->socket, err);
    (void)unlink(home->socket); /* the file may be absent; if it cannot be removed, bind() reports
                                 * it */
    mode_t mask = umask(0177);
    int bound = bind(fd, (struct sockaddr *)&address, sizeof address);
    int code = errno;
    (void)umask(mask);
    errno = code;
    if (bound < 0 || listen(fd, BACKLOG) < 0)
        return listen_fail(fd, home->socket, err);
    return fd;
}

static int bind_any(int family)
{
    struct sockaddr_in six_less = {.sin_family = AF_INET};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    int off = 0, fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off); /* without this the
                                                                            * socket takes IPv6 only
                                                                            */
    int bound = family == AF_INET6 ? bind(fd, (struct sockaddr *)&six, sizeof six)
                                   : bind(fd, (struct sockaddr *)&six_less, sizeof six_less);
    if (bound == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int code = errno;
    (void)close(fd); /* nothing was sent over it */
    errno = code;
    return -1;
}

int listen_tcp(unsigned *ret_port, struct error *err)
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } address;
    socklen_t size = sizeof address;
    int fd = bind_any(AF_INET6);
    if (fd < 0)
        fd = bind_any(AF_INET); /* the host has no IPv6 */
    if (fd < 0 || getsockname(fd, &address.any, &size) < 0)
        return listen_fail(fd, "a TCP port", err);
    *ret_port =
        ntohs(address.any.sa_family == AF_INET6 ? address.six.sin6_port : address.four.sin_port);
    return fd;
}

int listen_loopback(unsigned *port, struct error *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)*port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    const int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return listen_fail(fd, "a port of 127.0.0.1", err);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on); /* a restart need not wait */
    int bound = bind(fd, (struct sockaddr *)&address, sizeof address);
    if (bound < 0) {
        address.sin_port = 0;
        bound = bind(fd, (struct sockaddr *)&address, sizeof address);
    }
    if (bound < 0 || listen(fd, BACKLOG) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) < 0)
        return listen_fail(fd, "a port of 127.0.0.1", err);
    *port = ntohs(address.sin_port);
    return fd;
}

char *listen_host(const char *host)
{
    char name[256] = "";
    struct addrinfo *found = NULL;
    if (host && *host)
        return xstrdup(host);
    if (gethostname(name, sizeof name - 1) < 0 || getaddrinfo(name, NULL, NULL, &found) != 0)
        return text_format("127.0.0.1");
    freeaddrinfo(found);
    return xstrdup(name);
}
