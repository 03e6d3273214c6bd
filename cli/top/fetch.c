/* The thread and its mailbox of one request and one reply. */
#include "cli/top/fetch.h"

#include "cli/cli.h"
#include "cli/client.h"
#include "cli/decide.h"
#include "cli/top/request.h"
#include "lib/clock.h"
#include "lib/http.h"
#include "lib/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

struct fetch {
    struct cli cli; /* with a client of its own */
    pthread_t thread;
    int fd; /* an eventfd */

    pthread_mutex_t mutex;
    pthread_cond_t has_work;
    enum { FETCH_IDLE, FETCH_ASKED, FETCH_AT_WORK, FETCH_DONE } state;
    bool is_closing;
    struct request request;
    struct reply reply;
};

/* --- In the thread ---------------------------------------------------------------------------- */

/* Reads the next bytes of a file. A file that has become shorter is read anew, from its tail. */
static void fetch_read(const struct request *request, struct reply *reply)
{
    int fd = open(request->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    if (fd < 0 || fstat(fd, &info) < 0) {
        (void)error_set(&reply->error, -errno, "cannot read %s: %s", request->path,
                        strerror(errno));
        if (fd >= 0)
            (void)close(fd); /* was only read */
        return;
    }
    reply->offset = request->offset;
    if (reply->offset < 0 || reply->offset > info.st_size)
        reply->offset = info.st_size > REQUEST_READ_TAIL ? info.st_size - REQUEST_READ_TAIL : 0;
    char *bytes = xmalloc(REQUEST_READ_MAX);
    ssize_t size = pread(fd, bytes, REQUEST_READ_MAX, reply->offset);
    if (size < 0)
        (void)error_set(&reply->error, -errno, "could not read %s: %s", request->path,
                        strerror(errno));
    else
        text_add_bytes(&reply->bytes, bytes, (size_t)size);
    free(bytes);
    (void)close(fd); /* was only read */
}

static void fetch_carry_out(struct cli *cli, const struct request *request, struct reply *reply)
{
    int64_t begin_ms = clock_steady_ms();
    *reply = (struct reply){.request = *request};
    if (request->kind == REQUEST_READ)
        fetch_read(request, reply);
    else if (request->kind == REQUEST_GET)
        (void)client_get(cli, &reply->json, &reply->error, "%s",
                         request->path); /* its code says whether it failed */
    else
        (void)decide_post(cli, &request->address, request->command, NULL, &reply->json,
                          &reply->error); /* as above */
    reply->took_s = (double)(clock_steady_ms() - begin_ms) / 1e3;
}

static void *fetch_run(void *context)
{
    struct fetch *fetch = context;
    (void)pthread_mutex_lock(&fetch->mutex); /* cannot fail here and below: the mutex is whole */
    while (!fetch->is_closing) {
        if (fetch->state != FETCH_ASKED) {
            (void)pthread_cond_wait(&fetch->has_work, &fetch->mutex);
            continue;
        }
        fetch->state = FETCH_AT_WORK;
        (void)pthread_mutex_unlock(&fetch->mutex);
        fetch_carry_out(&fetch->cli, &fetch->request, &fetch->reply);
        (void)pthread_mutex_lock(&fetch->mutex);
        fetch->state = FETCH_DONE;
        (void)eventfd_write(fetch->fd, 1); /* the counter cannot overflow */
    }
    (void)pthread_mutex_unlock(&fetch->mutex);
    return NULL;
}

/* --- Outside ---------------------------------------------------------------------------------- */

/* Signals are for the thread that draws. */
static int fetch_start(struct fetch *fetch)
{
    sigset_t all, before;
    (void)sigfillset(&all);                            /* cannot fail */
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* cannot fail */
    int status = pthread_create(&fetch->thread, NULL, fetch_run, fetch);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL); /* as above */
    return -status;
}

static void fetch_free(struct fetch *fetch)
{
    json_decref(fetch->reply.json);
    text_fini(&fetch->reply.bytes);
    http_client_free(fetch->cli.client);
    home_fini(&fetch->cli.home);
    (void)pthread_mutex_destroy(&fetch->mutex);   /* nobody uses it */
    (void)pthread_cond_destroy(&fetch->has_work); /* nobody waits for it */
    if (fetch->fd >= 0)
        (void)close(fetch->fd); /* nothing is lost */
    free(fetch);
}

int fetch_open(struct fetch **ret_fetch, struct error *err)
{
    struct fetch *fetch = xcalloc(1, sizeof *fetch);
    fetch->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)pthread_mutex_init(&fetch->mutex, NULL);   /* cannot fail on Linux */
    (void)pthread_cond_init(&fetch->has_work, NULL); /* cannot fail */
    int status = fetch->fd < 0
                     ? error_set(err, -errno, "cannot make an eventfd: %s", strerror(errno))
                     : home_init(&fetch->cli.home, NULL, err);
    if (status == 0 && (status = fetch_start(fetch)) < 0)
        (void)error_set(err, status, "could not start a thread: %s", strerror(-status));
    if (status < 0)
        fetch_free(fetch);
    else
        *ret_fetch = fetch;
    return status;
}

void fetch_close(struct fetch *fetch)
{
    (void)pthread_mutex_lock(&fetch->mutex); /* the mutex is whole */
    bool is_busy = fetch->state == FETCH_ASKED || fetch->state == FETCH_AT_WORK;
    fetch->is_closing = true;
    (void)pthread_cond_signal(&fetch->has_work); /* cannot fail */
    (void)pthread_mutex_unlock(&fetch->mutex);
    if (is_busy) {
        (void)pthread_detach(fetch->thread); /* it may wait for a daemon that does not answer */
        return;
    }
    (void)pthread_join(fetch->thread, NULL); /* it is there */
    fetch_free(fetch);
}

int fetch_fd(const struct fetch *fetch)
{
    return fetch->fd;
}

void fetch_ask(struct fetch *fetch, const struct request *request)
{
    (void)pthread_mutex_lock(&fetch->mutex); /* the mutex is whole */
    fetch->request = *request;
    fetch->state = FETCH_ASKED;
    (void)pthread_cond_signal(&fetch->has_work); /* cannot fail */
    (void)pthread_mutex_unlock(&fetch->mutex);
}

bool fetch_take(struct fetch *fetch, struct reply *ret_reply)
{
    eventfd_t count;
    (void)pthread_mutex_lock(&fetch->mutex); /* the mutex is whole */
    bool is_done = fetch->state == FETCH_DONE;
    if (is_done) {
        (void)eventfd_read(fetch->fd, &count); /* it was written before the state changed */
        *ret_reply = fetch->reply;
        fetch->reply = (struct reply){0};
        fetch->state = FETCH_IDLE;
    }
    (void)pthread_mutex_unlock(&fetch->mutex);
    return is_done;
}
