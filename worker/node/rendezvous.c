/* Picks and publishes the meeting point. */
#include "worker/node/rendezvous.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "lib/protocol/message.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <jansson.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    RENDEZVOUS_PORT_MIN = 10000,
    RENDEZVOUS_PORT_END = 20000, /* from here on, daemons have their pages */
    RENDEZVOUS_TRIES = 100,
};

#define RENDEZVOUS_FILE "%s/rendezvous-%u.json" /* the folder of the run, and its restarts */

static bool rendezvous_is_loopback(const struct in_addr *address)
{
    return (ntohl(address->s_addr) >> 24) == 127;
}

/* Binds a socket to a port, or to any free port if `port` is 0. Fails if the address does not
 * belong to this node. Returns the socket, or -1. */
static int rendezvous_bind(const struct in_addr *address, unsigned port, unsigned *ret_port)
{
    struct sockaddr_in local = {
        .sin_family = AF_INET, .sin_addr = *address, .sin_port = htons((uint16_t)port)};
    socklen_t size = sizeof local;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && (bind(fd, (struct sockaddr *)&local, size) < 0 ||
                    getsockname(fd, (struct sockaddr *)&local, &size) < 0)) {
        close(fd);
        fd = -1;
    }
    if (fd >= 0)
        *ret_port = ntohs(local.sin_port);
    return fd;
}

/* The first of the ports that the kernel gives to programs that ask for any port; 0: unknown. */
static unsigned rendezvous_kernel_port(void)
{
    unsigned first = 0;
    FILE *file = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
    if (file && fscanf(file, "%u", &first) != 1)
        first = 0;
    if (file)
        (void)fclose(file); /* nothing was written */
    return first;
}

/* The ranks bind the port seconds after it was picked. Until then, the kernel may give its own
 * ports to any program that asks for a free port. So the port is one that the kernel gives to
 * nobody. A firewall between nodes may open only the kernel's ports, so the kernel chooses the
 * ports of other addresses. */
static int rendezvous_bind_local(unsigned *ret_port)
{
    const struct in_addr address = {.s_addr = htonl(INADDR_LOOPBACK)};
    unsigned end = rendezvous_kernel_port();
    end = end < RENDEZVOUS_PORT_END ? end : RENDEZVOUS_PORT_END;
    for (unsigned i = 0; i < RENDEZVOUS_TRIES && end > RENDEZVOUS_PORT_MIN; i++) {
        uint32_t port = RENDEZVOUS_PORT_MIN + randombytes_uniform(end - RENDEZVOUS_PORT_MIN);
        int fd = rendezvous_bind(&address, port, ret_port);
        if (fd >= 0)
            return fd;
    }
    return rendezvous_bind(&address, 0, ret_port);
}

/* Returns the port, or 0. */
static unsigned rendezvous_free_port(const struct in_addr *address)
{
    unsigned port = 0;
    int fd = rendezvous_is_loopback(address) ? rendezvous_bind_local(&port)
                                             : rendezvous_bind(address, 0, &port);
    if (fd >= 0)
        close(fd);
    return port;
}

int rendezvous_pick_local(unsigned *ret_ports, unsigned count, struct error *err)
{
    int *sockets = xcalloc(count, sizeof *sockets);
    unsigned bound = 0;
    /* All sockets stay open until the last port is picked, so that no port is picked twice. */
    while (bound < count && (sockets[bound] = rendezvous_bind_local(&ret_ports[bound])) >= 0)
        bound++;
    for (unsigned i = 0; i < bound; i++)
        close(sockets[i]);
    free(sockets);
    if (bound < count)
        return error_set(err, -EADDRNOTAVAIL, "found only %u free ports for %u groups", bound,
                         count);
    return 0;
}

/* Finds the first address of `name` that belongs to this node and is not loopback. */
static unsigned rendezvous_try_name(const char *name, struct in_addr *ret_address)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *list = NULL;
    unsigned port = 0;
    if (!name || getaddrinfo(name, NULL, &hints, &list) != 0)
        return 0;
    for (struct addrinfo *item = list; item && !port; item = item->ai_next) {
        struct in_addr address = ((struct sockaddr_in *)item->ai_addr)->sin_addr;
        if (!rendezvous_is_loopback(&address) && (port = rendezvous_free_port(&address)))
            *ret_address = address;
    }
    freeaddrinfo(list);
    return port;
}

static unsigned rendezvous_try_interfaces(struct in_addr *ret_address)
{
    struct ifaddrs *list = NULL;
    unsigned port = 0;
    if (getifaddrs(&list) < 0)
        return 0;
    for (struct ifaddrs *item = list; item && !port; item = item->ifa_next) {
        bool is_usable = item->ifa_addr && item->ifa_addr->sa_family == AF_INET &&
                         (item->ifa_flags & IFF_UP) && !(item->ifa_flags & IFF_LOOPBACK);
        if (!is_usable)
            continue;
        struct in_addr address = ((struct sockaddr_in *)item->ifa_addr)->sin_addr;
        if ((port = rendezvous_free_port(&address)))
            *ret_address = address;
    }
    freeifaddrs(list);
    return port;
}

int rendezvous_pick(const char *node, unsigned nodes, struct rendezvous *ret_rendezvous,
                    struct error *err)
{
    char host[256] = "";
    struct in_addr address = {.s_addr = htonl(INADDR_LOOPBACK)};
    unsigned port = 0;
    (void)gethostname(host, sizeof host - 1); /* an empty name is not found below */
    if (nodes > 1) {
        port = rendezvous_try_name(node, &address);
        port = port ? port : rendezvous_try_name(host, &address);
        port = port ? port : rendezvous_try_interfaces(&address);
    }
    /* The run has one node, or its nodes are on a host without a network, such as a sandbox. */
    if (!port)
        port = rendezvous_free_port(&address);
    if (!port)
        return error_set(err, -EADDRNOTAVAIL, "found no free port for the ranks to meet on %s",
                         node);
    struct rendezvous rendezvous = {.port = port};
    if (!inet_ntop(AF_INET, &address, rendezvous.address, sizeof rendezvous.address))
        return error_set(err, -errno, "cannot write an address: %s", strerror(errno));
    *ret_rendezvous = rendezvous;
    return 0;
}

int rendezvous_publish(const struct rendezvous *rendezvous, const char *run_dir, unsigned restarts,
                       struct error *err)
{
    json_t *json =
        json_pack("{s:s, s:i}", "address", rendezvous->address, "port", (int)rendezvous->port);
    int status = message_replace(json, err, RENDEZVOUS_FILE, run_dir, restarts);
    json_decref(json);
    return status;
}

int rendezvous_read(const char *run_dir, unsigned restarts, struct rendezvous *ret_rendezvous,
                    struct error *err)
{
    const char *address;
    int port;
    json_t *json;
    int status = message_read(&json, err, RENDEZVOUS_FILE, run_dir, restarts);
    if (status < 0)
        return status;
    if (json_unpack(json, "{s:s, s:i}", "address", &address, "port", &port) < 0) {
        status = error_set(err, -EINVAL, RENDEZVOUS_FILE " names no address and port", run_dir,
                           restarts);
    } else {
        ret_rendezvous->port = (unsigned)port;
        (void)snprintf(ret_rendezvous->address, sizeof ret_rendezvous->address, "%s", address);
    }
    json_decref(json);
    return status;
}
