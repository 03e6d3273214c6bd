/* The thread that talks to the daemon. */
#include "worker/protocol/link.h"

#include "lib/clock.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/json.h"
#include "lib/memory.h"
#include "lib/protocol/daemon_file.h"
#include "lib/protocol/journal_push.h"
#include "lib/protocol/lead_command.h"
#include "lib/protocol/message.h"
#include "lib/text.h"
#include "worker/protocol/journal.h"
#include "worker/protocol/transfer.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINK_BATCH_MAX = 256 * 1024, /* bytes of the entries in one push */
    LINK_FIRST_MAX = 8 * 1024,   /* bytes before the daemon has answered: doc/protocol.md */
    LINK_BATCH_MS = 1000,
    LINK_RETRY_MIN_MS = 200,
    LINK_RETRY_MAX_MS = 10000,
    LINK_PUSH_TIMEOUT_MS = 30000,
    LINK_POLL_TIMEOUT_MS = 40000, /* the daemon answers after 25 s at the latest */
    LINK_LOOK_MS = 2000,
};

/* One of the two tasks of the link, and when it may try again. */
struct link_task {
    struct transfer transfer;
    int64_t due_ms;
    int retry_ms; /* 0: the last try succeeded */
    bool is_away; /* the last try failed: nobody answered, or the answer was an error */
};

struct link {
    pthread_t thread;
    struct link_options options;
    CURLM *multi;

    pthread_mutex_t mutex; /* protects the next four members */
    bool is_heard;
    bool is_urgent;
    bool is_closing;
    int64_t close_by_ms;

    /* These members belong to the thread. */
    struct link_task push, poll;
    char *base; /* http://host:port; NULL: it must be read again */
    uint64_t committed;
    int64_t obeyed;   /* the number of the last command */
    int64_t asked_ms; /* when the last request for a command began */
    int64_t look_ms;  /* when to look at the file of commands */
    char told[512];   /* the last reported failure, so that each is reported once */
};

static int link_find_daemon(struct link *link, struct error *err)
{
    struct daemon_file file;
    if (link->base)
        return 0;
    int status = daemon_file_read(link->options.daemon_file, &file, err);
    if (status == 0)
        link->base = text_format(strchr(file.host, ':') ? "http://[%s]:%u" : "http://%s:%u",
                                 file.host, file.port);
    daemon_file_fini(&file);
    return status;
}

/* Reports each kind of failure once, in the output of the job, because the journal cannot reach the
 * daemon. */
static void link_tell(struct link *link, const struct error *err)
{
    if (text_equal(link->told, err->message))
        return;
    (void)snprintf(link->told, sizeof link->told, "%s", err->message); /* may be cut */
    fprintf(stderr, "phase-worker %s: %s; the work goes on\n", link->options.node, err->message);
}

static void link_try_later(struct link_task *task)
{
    task->retry_ms = task->retry_ms ? task->retry_ms * 2 : LINK_RETRY_MIN_MS;
    if (task->retry_ms > LINK_RETRY_MAX_MS)
        task->retry_ms = LINK_RETRY_MAX_MS;
    task->due_ms = clock_steady_ms() + task->retry_ms;
}

static void link_set_heard(struct link *link, bool is_heard)
{
    pthread_mutex_lock(&link->mutex);
    link->is_heard = is_heard;
    pthread_mutex_unlock(&link->mutex);
}

static void link_failed(struct link *link, struct link_task *task, const struct error *err)
{
    link_tell(link, err);
    link_try_later(task);
    task->is_away = true;
    link_set_heard(link, false);
    free(link->base);
    link->base = NULL;
}

/* Only the task that has failed knows that the failure is over: the daemon may answer polls while
 * it cannot write to its record. */
static void link_answered(struct link *link, struct link_task *task)
{
    if (!task->is_away)
        return;
    if (link->told[0])
        fprintf(stderr, "phase-worker %s: the daemon answers again\n", link->options.node);
    link->told[0] = '\0';
    task->is_away = false;
}

static void link_succeeded(struct link *link, struct link_task *task, int pause_ms)
{
    link_answered(link, task);
    task->retry_ms = 0;
    task->due_ms = clock_steady_ms() + pause_ms;
}

typedef void link_begin(struct link *link);

static void link_begin_push(struct link *link)
{
    struct text entries = {0}, *request = &link->push.transfer.request;
    (void)journal_read(link->options.journal, link->committed,
                       link_is_heard(link) ? LINK_BATCH_MAX : LINK_FIRST_MAX, &entries);
    json_t *node = json_string(link->options.node);
    char *name = json_text(node, JSON_ENCODE_ANY);
    text_clear(request);
    text_addf(request, "{\"node\": %s, \"entries\": [%s]}", name, text_string(&entries));
    char *path = text_format("/v1/worker/%lld/journal", (long long)link->options.run);
    transfer_begin(&link->push.transfer, link->options.secret, link->base, "POST", path,
                   LINK_PUSH_TIMEOUT_MS);
    free(path);
    free(name);
    json_decref(node);
    text_fini(&entries);
}

static void link_begin_poll(struct link *link)
{
    link->asked_ms = clock_steady_ms();
    char *path = text_format("/v1/worker/%lld/command?after=%lld", (long long)link->options.run,
                             (long long)link->obeyed);
    transfer_begin(&link->poll.transfer, link->options.secret, link->base, "GET", path,
                   LINK_POLL_TIMEOUT_MS);
    free(path);
}

static void link_pushed(struct link *link, CURLcode code)
{
    struct error err;
    json_t *reply = NULL;
    int status = transfer_end(&link->push.transfer, link->options.secret, code, &reply, &err);
    int64_t committed = journal_reply_read(reply).committed;
    if (status == 0 && committed < 0)
        status = error_set(&err, -EPROTO, "the daemon's reply does not tell what is committed");
    uint64_t before = link->committed;
    if (status == 0)
        link->committed = (uint64_t)committed;
    json_decref(reply);
    if (status < 0) {
        link_failed(link, &link->push, &err);
        return;
    }
    /* The daemon holds some entries until the entries of other nodes come, or its record was
     * restored. Sending the same entries at once would not help. */
    bool is_stuck =
        link->committed <= before && journal_last(link->options.journal) > link->committed;
    bool was_heard = link_is_heard(link);
    link_set_heard(link, true);
    if (is_stuck) {
        link_answered(link, &link->push);
        link_try_later(&link->push);
        return;
    }
    /* After a full batch, more entries are waiting. After the first batch, more may be. */
    bool is_full = link->push.transfer.request.size >= LINK_BATCH_MAX || !was_heard;
    link_succeeded(link, &link->push, is_full ? 0 : LINK_BATCH_MS);
}

/* Takes over the reference, which may be NULL. */
static void link_obey(struct link *link, json_t *command)
{
    unsigned number = lead_command_read(command).number;
    if (number <= link->obeyed) {
        json_decref(command);
        return;
    }
    link->obeyed = number;
    link->options.command_came(link->options.context, command);
}

static void link_polled(struct link *link, CURLcode code)
{
    struct error err;
    json_t *reply = NULL;
    int status = transfer_end(&link->poll.transfer, link->options.secret, code, &reply, &err);
    if (status < 0) {
        link_failed(link, &link->poll, &err);
        return;
    }
    unsigned number = lead_command_read(reply).number;
    /* If there is no command, the daemon delays its answer. If a daemon answers at once all the
     * same, the link waits before it asks again. */
    bool is_hasty = clock_steady_ms() - link->asked_ms < LINK_RETRY_MIN_MS;
    link_succeeded(link, &link->poll, is_hasty && number <= link->obeyed ? LINK_RETRY_MIN_MS : 0);
    link_obey(link, reply);
}

/* The daemon makes the file and its folder. */
static void link_look_again(const char *command_file)
{
    char *control = file_parent(command_file), *run_dir = file_parent(control);
    file_look_again(run_dir);
    file_look_again(control);
    free(run_dir);
    free(control);
}

/* Looks for a command in the file if it is time; otherwise shortens the wait. */
static void link_turn_file(struct link *link, int64_t now_ms, int64_t *wait_ms)
{
    json_t *command;
    if (now_ms >= link->look_ms) {
        link->look_ms = now_ms + LINK_LOOK_MS;
        link_look_again(link->options.command_file);
        if (message_read(&command, NULL, "%s", link->options.command_file) == 0)
            link_obey(link, command);
    }
    if (link->look_ms - now_ms < *wait_ms)
        *wait_ms = link->look_ms - now_ms;
}

/* Returns how many transfers ended. */
static unsigned link_take_messages(struct link *link)
{
    CURLMsg *message;
    int rest;
    unsigned ended = 0;
    while ((message = curl_multi_info_read(link->multi, &rest))) {
        if (message->msg != CURLMSG_DONE)
            continue;
        CURLcode code = message->data.result;
        if (message->easy_handle == link->push.transfer.curl)
            link_pushed(link, code);
        else
            link_polled(link, code);
        ended++;
    }
    return ended;
}

/* Begins the task if it is due; otherwise shortens the wait. */
static void link_turn_task(struct link *link, struct link_task *task, link_begin *begin,
                           int64_t now_ms, int64_t *wait_ms)
{
    struct error err;
    if (task->transfer.is_active)
        return;
    if (task->due_ms <= now_ms && link_find_daemon(link, &err) < 0)
        link_failed(link, task, &err);
    else if (task->due_ms <= now_ms)
        begin(link);
    if (!task->transfer.is_active && task->due_ms - now_ms < *wait_ms)
        *wait_ms = task->due_ms - now_ms;
}

/* Begins all due tasks. Returns the wait until the next due task in ms, or -1 to end. */
static int link_turn(struct link *link)
{
    int64_t now_ms = clock_steady_ms(), wait_ms = LINK_RETRY_MAX_MS;
    pthread_mutex_lock(&link->mutex);
    bool is_closing = link->is_closing, is_heard = link->is_heard;
    int64_t close_by_ms = link->close_by_ms;
    /* An urgent entry is tried before its time, even if the daemon seems to be away. */
    if (link->is_urgent)
        link->push.due_ms = now_ms;
    if (!link->push.transfer.is_active)
        link->is_urgent = false;
    pthread_mutex_unlock(&link->mutex);
    bool has_news = journal_last(link->options.journal) > link->committed;
    if (is_closing && (!has_news || now_ms >= close_by_ms || link->push.is_away))
        return -1;
    bool asks = link->options.command_came && !is_heard && !is_closing;
    if (has_news || asks)
        link_turn_task(link, &link->push, link_begin_push, now_ms, &wait_ms);
    if (link->options.command_came && !is_closing)
        link_turn_task(link, &link->poll, link_begin_poll, now_ms, &wait_ms);
    if (link->options.command_file && !is_heard && !is_closing)
        link_turn_file(link, now_ms, &wait_ms);
    if (is_closing && close_by_ms - now_ms < wait_ms)
        wait_ms = close_by_ms - now_ms;
    return wait_ms > 0 ? (int)wait_ms : 0;
}

static void *link_run(void *context)
{
    struct link *link = context;
    int wait_ms, running;
    while ((wait_ms = link_turn(link)) >= 0) {
        (void)curl_multi_perform(link->multi, &running); /* each transfer has its own failure */
        if (link_take_messages(link) == 0)
            (void)curl_multi_poll(link->multi, NULL, 0, wait_ms,
                                  NULL); /* the next turn looks at the result */
    }
    return NULL;
}

struct link *link_open(const struct link_options *options)
{
    struct link *link = xcalloc(1, sizeof *link);
    link->multi = curl_multi_init();
    if (!link->multi)
        abort();
    link->options = *options;
    transfer_init(&link->push.transfer, link->multi);
    transfer_init(&link->poll.transfer, link->multi);
    int code = pthread_mutex_init(&link->mutex, NULL);
    assert(code == 0);
    /* Only the loop handles signals. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    code = pthread_create(&link->thread, NULL, link_run, link);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code != 0)
        abort(); /* as when memory is exhausted: the system limits threads */
    return link;
}

void link_wake(struct link *link, enum link_urgency urgency)
{
    if (urgency == LINK_NOW) {
        pthread_mutex_lock(&link->mutex);
        link->is_urgent = true;
        pthread_mutex_unlock(&link->mutex);
    }
    curl_multi_wakeup(link->multi);
}

bool link_is_heard(struct link *link)
{
    pthread_mutex_lock(&link->mutex);
    bool is_heard = link->is_heard;
    pthread_mutex_unlock(&link->mutex);
    return is_heard;
}

void link_close(struct link *link, int drain_ms)
{
    if (!link)
        return;
    pthread_mutex_lock(&link->mutex);
    link->is_closing = link->is_urgent = true;
    link->close_by_ms = clock_steady_ms() + drain_ms;
    pthread_mutex_unlock(&link->mutex);
    curl_multi_wakeup(link->multi);
    pthread_join(link->thread, NULL);
    transfer_fini(&link->push.transfer);
    transfer_fini(&link->poll.transfer);
    curl_multi_cleanup(link->multi);
    pthread_mutex_destroy(&link->mutex);
    free(link->base);
    free(link);
}
