/* NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, as sd_notify(3) and sd_watchdog_enabled(3) have
 * them. */
#include "daemon/service.h"

#include "lib/memory.h"
#include "lib/text.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    STATUS_MS = 30000,    /* how old the line for people may be */
    PATIENCE_MS = 600000, /* for a start: TimeoutStartSec of etc/systemd/phased.service.in */
    US_PER_MS = 1000,
};

void service_init(struct service *service)
{
    const char *socket = getenv("NOTIFY_SOCKET"), *watchdog_us = getenv("WATCHDOG_USEC"),
               *pid = getenv("WATCHDOG_PID");
    bool is_ours = !pid || strtol(pid, NULL, 10) == getpid();
    *service = (struct service){
        .socket = socket ? xstrdup(socket) : NULL,
        .watchdog_us = watchdog_us && is_ours ? xstrdup(watchdog_us) : NULL,
    };
    (void)unsetenv("NOTIFY_SOCKET"); /* the names are good, so these cannot fail */
    (void)unsetenv("WATCHDOG_USEC");
    (void)unsetenv("WATCHDOG_PID");
}

void service_fini(struct service *service)
{
    free(service->socket);
    free(service->watchdog_us);
    *service = (struct service){0};
}

void service_hand_on(const struct service *service)
{
    /* Without memory for a variable, systemd hears nothing, and starts the daemon again. */
    if (service->socket)
        (void)setenv("NOTIFY_SOCKET", service->socket, 1);
    if (service->watchdog_us)
        (void)setenv("WATCHDOG_USEC", service->watchdog_us, 1);
}

uint64_t service_every_ms(const struct service *service)
{
    if (!service->socket)
        return 0;
    uint64_t limit_us = service->watchdog_us ? strtoull(service->watchdog_us, NULL, 10) : 0;
    uint64_t half_ms = limit_us / 2 / US_PER_MS; /* systemd asks for half of its limit */
    if (limit_us == 0 || half_ms > STATUS_MS)
        return STATUS_MS;
    return half_ms > 0 ? half_ms : 1;
}

void service_tell(const struct service *service, const char *state, const char *status)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t size = service->socket ? strlen(service->socket) : 0;
    /* systemd has other kinds of sockets, but not for services on this machine. */
    if (size < 2 || size >= sizeof address.sun_path ||
        (service->socket[0] != '/' && service->socket[0] != '@'))
        return;
    memcpy(address.sun_path, service->socket, size);
    if (address.sun_path[0] == '@')
        address.sun_path[0] = '\0'; /* an abstract socket has no file */
    char *text = text_format("%s%sSTATUS=%s", state, state[0] ? "\n" : "", status);
    for (char *end = text + strlen(text) - strlen(status); *end; end++)
        if (*end == '\n')
            *end = ' '; /* the next line would be another message */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
        (void)sendto(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL,
                     (const struct sockaddr *)&address, length); /* may be lost: see the header */
        (void)close(fd);
    }
    free(text);
}

void service_be_patient(const struct service *service, bool is_patient, const char *status)
{
    uint64_t limit_us = service->watchdog_us ? strtoull(service->watchdog_us, NULL, 10) : 0;
    if (limit_us == 0)
        return;
    const uint64_t patience_us = (uint64_t)PATIENCE_MS * US_PER_MS;
    if (is_patient && limit_us < patience_us)
        limit_us = patience_us;
    char *state = text_format("WATCHDOG_USEC=%" PRIu64, limit_us);
    service_tell(service, state, status);
    free(state);
}
