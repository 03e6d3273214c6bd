/* Keeping a port of [::1]. */
#include "lib/loopback.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

int loopback_reserve(unsigned port, int *ret_fd)
{
    const struct sockaddr_in6 address = {.sin6_family = AF_INET6,
                                         .sin6_port = htons((uint16_t)port),
                                         .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *ret_fd = -1;
    if (fd < 0)
        return errno == EAFNOSUPPORT ? 0 : -errno;
    /* Without SO_REUSEADDR, so that no other socket can have the port, although nobody listens. */
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) == 0) {
        *ret_fd = fd;
        return 0;
    }
    int code = errno;
    (void)close(fd); /* it was never connected */
    return code == EADDRNOTAVAIL ? 0 : -code;
}
