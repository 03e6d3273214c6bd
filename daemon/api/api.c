/* Opening and closing the API: its servers, two sets of long polls, daemon.json. */
#include "daemon/api/api_private.h"

#include "daemon/ingest/ingest.h"
#include "daemon/loop/loop.h"
#include "lib/error.h"
#include "lib/home.h"
#include "lib/loopback.h"
#include "lib/memory.h"
#include "lib/protocol/daemon_file.h"
#include "lib/protocol/message.h"
#include "lib/text.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    PERSON_BODY_MAX = 16 << 20,             /* a list of specs, or one of 1 MiB as a JSON string */
    REMOTE_BODY_MAX = PERSON_BODY_MAX + 64, /* the same, encrypted; workers send less */
    PERSON_CONNECTIONS_MAX = 256,           /* of one user */
    WORKER_CONNECTIONS_MAX = 8192,          /* a lead has two, a node one */
    PAGE_BODY_MAX = 64 << 10,               /* a verb */
    PAGE_CONNECTIONS_MAX = 32,              /* a browser has up to six */
    BACKLOG = 1024,                         /* enough for a job array that starts all at once */
    LOOPBACK_TRIES = 16,                    /* of ports that 127.0.0.1 has free, but not [::1] */
    OWN_FILES_MAX = 96, /* other descriptors: the record, Slurm, logs, connections of the page */
};

/* --- Listening sockets: non-blocking, and closed on exec -------------------------------------- */

/* Listens at this address, and reads it back with its port. Returns a descriptor or -errno. */
static int listen_at(struct sockaddr *address, socklen_t size)
{
    const int on = 1, off = 0;
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (address->sa_family == AF_INET6) /* without this the socket takes IPv6 only */
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (address->sa_family == AF_INET) /* a restart need not wait for its port */
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, address, size) == 0 && listen(fd, BACKLOG) == 0 &&
        getsockname(fd, address, &size) == 0)
        return fd;
    int code = errno;
    (void)close(fd); /* nothing was sent over it */
    return -code;
}

static int listen_end(int fd, const char *what, struct error *err)
{
    return fd < 0 ? error_set(err, fd, "could not listen on %s: %s", what, strerror(-fd)) : fd;
}

/* Replaces an existing socket. */
static int listen_unix(struct home *home, struct error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int status = home_socket_address(home, address.sun_path, err);
    if (status < 0)
        return status;
    (void)unlink(home->socket); /* the file may be absent; if it cannot be removed, bind() reports
                                 * it */
    mode_t mask = umask(0177);
    int fd = listen_at((struct sockaddr *)&address, sizeof address);
    (void)umask(mask);
    return listen_end(fd, home->socket, err);
}

/* Listens on all interfaces, on a free port. */
static int listen_tcp(unsigned *ret_port, struct error *err)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    struct sockaddr_in four = {.sin_family = AF_INET};
    int fd = listen_at((struct sockaddr *)&six, sizeof six);
    if (fd < 0) /* the host has no IPv6 */
        fd = listen_at((struct sockaddr *)&four, sizeof four);
    *ret_port = ntohs(six.sin6_port ? six.sin6_port : four.sin_port);
    return listen_end(fd, "a TCP port", err);
}

/* Listens on 127.0.0.1, and reserves the same port of [::1]: this port if it is free, else a free
 * one. */
static int listen_loopback(unsigned *port, int *ret_reserved_fd, struct error *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)*port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = -EADDRINUSE;
    for (int i = 0; fd < 0 && i < LOOPBACK_TRIES; i++) {
        fd = listen_at((struct sockaddr *)&address, sizeof address);
        *port = ntohs(address.sin_port);
        int status = fd < 0 ? 0 : loopback_reserve(*port, ret_reserved_fd);
        if (status < 0) {
            (void)close(fd); /* nothing was sent over it */
            fd = status;
        }
        address.sin_port = 0;
    }
    return listen_end(fd, "a port of 127.0.0.1", err);
}

/* Returns the name by which other hosts reach this host: `host` if given, the host's own name if it
 * resolves, or else the loopback address. The caller frees it. */
static char *listen_host(const char *host)
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

/* --- Opening and closing ---------------------------------------------------------------------- */

/* Limits the connections of each server, so that neither server uses up the descriptors of the
 * other server or of the daemon itself. */
static void share_files(unsigned *ret_people, unsigned *ret_workers)
{
    struct rlimit files;
    rlim_t all = getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : OWN_FILES_MAX;
    rlim_t own = all * 5 / 8 < OWN_FILES_MAX ? all * 5 / 8 : OWN_FILES_MAX, rest = all - own;
    *ret_people = rest / 2 < PERSON_CONNECTIONS_MAX ? (unsigned)rest / 2 : PERSON_CONNECTIONS_MAX;
    rest -= *ret_people;
    *ret_workers = rest < WORKER_CONNECTIONS_MAX ? (unsigned)rest : WORKER_CONNECTIONS_MAX;
}

static void on_told(void *context)
{
    struct api *api = context;
    if (!api->is_closing)
        waiters_wake(&api->commands);
}

static void on_history(void *context)
{
    struct api *api = context;
    if (!api->is_closing)
        waiters_wake(&api->events);
}

static int write_daemon_file(const struct api_config *config, unsigned port, struct error *err)
{
    char *host = listen_host(config->host);
    json_t *json = daemon_file_to_json(
        &(struct daemon_file){.host = host, .port = port, .pid = getpid(), .job = config->job});
    int status = message_replace(json, err, "%s", config->home->daemon_file);
    json_decref(json);
    free(host);
    return status;
}

static void on_part_closed(void *context)
{
    struct api *api = context;
    if (--api->handles_open > 0)
        return;
    void (*closed)(void *) = api->closed;
    void *closed_context = api->closed_context;
    call_release_api(api);
    if (closed)
        closed(closed_context);
}

static void on_timer_closed(uv_handle_t *handle)
{
    const struct waiters *waiters = handle->data;
    on_part_closed(waiters->context);
}

static int open_server(struct api *api, const struct server_config *wanted,
                       struct server **ret_server, struct error *err)
{
    struct server_config config = *wanted;
    config.uv = api->config.uv;
    config.context = api;
    int status = server_open(&config, ret_server, err);
    if (status < 0)
        (void)close(config.listen_fd); /* nothing was sent over it */
    else
        api->handles_open++;
    return status;
}

static int open_people(struct api *api, unsigned connections_max, struct error *err)
{
    int fd = listen_unix(api->config.home, err);
    (void)stat(api->config.home->socket, &api->socket); /* if this fails, the socket file is not
                                                         * removed at the end */
    const struct server_config config = {.listen_fd = fd,
                                         .body_max = PERSON_BODY_MAX,
                                         .connections_max = connections_max,
                                         .owner_only = true,
                                         .handle = routes_handle_person};
    return fd < 0 ? fd : open_server(api, &config, &api->people, err);
}

static int open_workers(struct api *api, unsigned connections_max, struct error *err)
{
    unsigned port = 0;
    int fd = listen_tcp(&port, err);
    const struct server_config config = {.listen_fd = fd,
                                         .body_max = REMOTE_BODY_MAX,
                                         .connections_max = connections_max,
                                         .admit = routes_admit_remote,
                                         .handle = routes_handle_remote};
    int status = fd < 0 ? fd : open_server(api, &config, &api->workers, err);
    return status < 0 ? status : write_daemon_file(&api->config, port, err);
}

static void page_handle(struct request *request, void *api)
{
    if (!page_serve(request))
        routes_handle_person(request, api);
}

static int open_page(struct api *api, struct error *err)
{
    unsigned usual = page_port(api->config.home->path);
    api->page.port = usual;
    int fd = listen_loopback(&api->page.port, &api->page.reserved_fd, err);
    if (fd >= 0 && api->page.port != usual)
        log_line("port %u of the web page is in use by another program: the page has port %u",
                 usual, api->page.port);
    const struct server_config config = {.listen_fd = fd,
                                         .body_max = PAGE_BODY_MAX,
                                         .connections_max = PAGE_CONNECTIONS_MAX,
                                         .headers = page_headers,
                                         .admit = page_admit,
                                         .handle = page_handle};
    mac_random(api->page.token, sizeof api->page.token);
    mac_random(api->page.name, sizeof api->page.name);
    return fd < 0 ? fd : open_server(api, &config, &api->pages, err);
}

int api_open(const struct api_config *config, struct api **ret_api, struct error *err)
{
    struct api *api = xcalloc(1, sizeof *api);
    api->config = *config;
    waiters_init(&api->events, config->uv, read_events_answer, api);
    waiters_init(&api->commands, config->uv, worker_answer, api);
    api->handles_open = 2;
    api->holds = 1;
    api->page.reserved_fd = -1;
    unsigned people_max, workers_max;
    share_files(&people_max, &workers_max);
    int status = owner_key(config->home, &api->key, err);
    if (status == 0)
        status = open_people(api, people_max, err);
    if (status == 0) /* writes the file of the daemon, which promises the socket of people */
        status = open_workers(api, workers_max, err);
    if (status == 0)
        status = open_page(api, err);
    if (status < 0) {
        api_close(api, NULL, NULL);
        return status;
    }
    loop_listen(config->loop, on_history, api);
    ingest_listen(config->loop, on_told, api);
    *ret_api = api;
    return 0;
}

void api_close(struct api *api, void (*closed)(void *context), void *context)
{
    assert(!api->is_closing);
    loop_settle(api->config.loop); /* what was posted with a request must not outlive the request */
    loop_listen(api->config.loop, NULL, NULL);
    ingest_listen(api->config.loop, NULL, NULL);
    api->is_closing = true;
    api->closed = closed;
    api->closed_context = context;
    waiters_close(&api->events, on_timer_closed);
    waiters_close(&api->commands, on_timer_closed);
    struct server *people = api->people, *workers = api->workers, *pages = api->pages;
    struct stat now;
    if (people && stat(api->config.home->socket, &now) == 0 && now.st_ino == api->socket.st_ino &&
        now.st_dev == api->socket.st_dev)
        (void)unlink(api->config.home->socket); /* may fail: the next daemon replaces it */
    if (api->page.reserved_fd >= 0)
        (void)close(api->page.reserved_fd); /* it was never connected */
    if (people)
        server_close(people, on_part_closed, api);
    if (workers)
        server_close(workers, on_part_closed, api);
    if (pages)
        server_close(pages, on_part_closed, api);
}
