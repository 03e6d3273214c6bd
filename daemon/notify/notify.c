/* Carrying out notices. */
#include "daemon/notify/notify.h"

#include "daemon/loop/loop.h"
#include "daemon/store/notice.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/home.h"
#include "lib/json.h"
#include "lib/memory.h"
#include "lib/spec/notify.h"
#include "lib/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

enum {
    NOTIFY_EVERY_MS = 2000,
    NOTIFY_AT_ONCE_MAX = 4,
    NOTIFY_GIVE_UP_MS = 24 * 3600 * 1000,
};

#define NOTIFY_LIMIT_S "30"

/* timeout(1) ends a program that hangs, with its whole process group: TERM after 30 s, KILL five
 * seconds later. */
static const char *const notify_command[] = {"timeout", "-k", "5",  NOTIFY_LIMIT_S,
                                             "sh",      "-c", NULL, NULL};
/* curl reads its whole configuration from its input. An address may hold secrets, and `ps` shows
 * arguments. */
static const char *const notify_webhook[] = {"timeout",  "-k", "5", NOTIFY_LIMIT_S, "curl", "-q",
                                             "--config", "-",  NULL};

enum {
    ERRORS_SIZE = 4096,
    ERROR_MAX = 160,
    EXIT_OF_TIMEOUT = 124,
    PIPE_READS = 16, /* so many reads of ERRORS_SIZE bytes empty a full pipe */
};

/* One notice that is being told. A program in the background may have the pipe longer than the
 * program that was started. The pipe stays open until the last of them has ended or the daemon
 * stops, because a program that writes to a pipe without a reader is killed. What such a program
 * writes is not read: a program that writes without end must not keep the daemon busy. */
struct notifier {
    LIST_ENTRY(notifier) link;
    uv_process_t process;
    uv_poll_t readable;
    uint64_t started_ns; /* in uv_hrtime() */
    unsigned handles;    /* `process` and `readable`, until they are closed */
    struct notify *notify;
    json_t *notice;
    int errors;                 /* the end of a pipe with its standard error; negative: closed */
    char said[ERRORS_SIZE + 1]; /* the last bytes of its standard error */
    size_t said_size;
};

struct notify {
    struct loop *loop;
    LIST_HEAD(, notifier) all;
    struct notifier *notifiers[NOTIFY_AT_ONCE_MAX]; /* the programs that run; NULL: no program */
};

/* The pause after so many tries. */
static int64_t notify_pause_ms(unsigned tries)
{
    int64_t pause_ms = NOTICE_RETRY_FIRST_MS;
    for (unsigned i = 1; i < tries && pause_ms < NOTICE_RETRY_LAST_MS; i++)
        pause_ms *= 2;
    return pause_ms < NOTICE_RETRY_LAST_MS ? pause_ms : NOTICE_RETRY_LAST_MS;
}

/* Whether the pauses between so many tries make up a day. The age of the notice does not count,
 * because the daemon may have been away. */
static bool notify_gives_up(unsigned tries)
{
    int64_t paused_ms = 0;
    for (unsigned i = 1; i < tries && paused_ms < NOTIFY_GIVE_UP_MS; i++)
        paused_ms += notify_pause_ms(i);
    return paused_ms >= NOTIFY_GIVE_UP_MS;
}

static uint64_t notice_number(const json_t *notice, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(notice, key));
}

/* --- Results ---------------------------------------------------------------------------------- */

struct notify_item {
    struct loop_item item;
    uint64_t notice, workflow;
    int64_t due_ms; /* 0: never again */
    char *warning;  /* may be NULL */
};

static int notify_write(struct loop_item *base, struct store *store, struct error *err)
{
    const struct notify_item *item = (const struct notify_item *)base;
    struct store_event event = {.type = EVENT_WARNING,
                                .time_ms = loop_now_ms(),
                                .workflow = item->workflow,
                                .message = item->warning};
    int status = item->due_ms ? store_notice_retry(store, item->notice, item->due_ms, err)
                              : store_notice_done(store, item->notice, loop_now_ms(), err);
    return status < 0 || !item->warning ? status : store_event_add(store, &event, err);
}

static void notify_free(void *context)
{
    struct notify_item *item = context;
    free(item->warning);
    free(item);
}

/* Tries again at `due_ms`; 0: never. Takes `warning`, which may be NULL. */
static void notify_post(struct loop *loop, const json_t *notice, int64_t due_ms, char *warning)
{
    struct notify_item *item = xcalloc(1, sizeof *item);
    *item = (struct notify_item){
        .item = {.write = notify_write, .free = notify_free, .adds_history = true},
        .notice = notice_number(notice, "notice"),
        .workflow = notice_number(notice, "workflow"),
        .due_ms = due_ms,
        .warning = warning,
    };
    loop_post_item(loop, &item->item, NULL);
}

/* `failure` is what the program did, such as `exited with 1`; NULL: it told people. `said` is why,
 * for example the program's last message; NULL: not known. */
static void notify_record(struct loop *loop, const json_t *notice, const char *failure,
                          const char *said)
{
    unsigned tries = (unsigned)notice_number(notice, "tries") + 1;
    bool gives_up = notify_gives_up(tries);
    int64_t again_ms = loop_now_ms() + notify_pause_ms(tries);
    char *warning = NULL;
    const char *kind = json_member_text(notice, "kind"), *way = json_member_text(notice, "way");
    if (failure && (tries == 1 || gives_up))
        warning = text_format("the %s of notify %s for the notice '%s'%s%s; %s", way, failure, kind,
                              said ? ": " : "", said ? said : "",
                              gives_up ? "given up" : "it will be tried again for a day");
    log_line("notice of workflow %llu, %s, by its %s: %s",
             (unsigned long long)notice_number(notice, "workflow"), kind, way,
             failure ? "not told" : "told");
    notify_post(loop, notice, failure && !gives_up ? again_ms : 0, warning);
}

/* --- Telling ---------------------------------------------------------------------------------- */

static void notifier_closed(uv_handle_t *handle)
{
    struct notifier *notifier = handle->data;
    struct loop *loop = notifier->notify->loop;
    if (--notifier->handles)
        return;
    LIST_REMOVE(notifier, link);
    json_decref(notifier->notice);
    free(notifier);
    loop_release(loop);
}

static void notifier_close_errors(struct notifier *notifier)
{
    if (notifier->errors < 0)
        return;
    uv_close((uv_handle_t *)&notifier->readable, notifier_closed);
    (void)close(notifier->errors); /* it was only read */
    notifier->errors = -1;
}

/* Reads once from the standard error, and keeps the last bytes. False: nothing is there now. */
static bool notifier_read(struct notifier *notifier)
{
    char text[ERRORS_SIZE];
    ssize_t size = notifier->errors < 0 ? -1 : read(notifier->errors, text, sizeof text);
    if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR))
        notifier_close_errors(notifier);
    if (size <= 0)
        return false;
    size_t room = ERRORS_SIZE - (size_t)size;
    size_t kept = notifier->said_size < room ? notifier->said_size : room;
    memmove(notifier->said, notifier->said + notifier->said_size - kept, kept);
    memcpy(notifier->said + kept, text, (size_t)size);
    notifier->said_size = kept + (size_t)size;
    return true;
}

static void notifier_readable(uv_poll_t *readable, int status, int events)
{
    if (status < 0 || events & UV_DISCONNECT)
        notifier_close_errors(readable->data);
    else
        (void)notifier_read(readable->data); /* the loop calls again while there is more */
}

/* The last line of the program's standard error; the caller frees it. NULL: nothing. */
static char *notifier_said(struct notifier *notifier)
{
    for (size_t i = 0; i < PIPE_READS && notifier_read(notifier); i++)
        ;
    char *text = notifier->said;
    text[notifier->said_size] = '\0';
    size_t end = strlen(text);
    while (end > 0 && strchr("\r\n ", text[end - 1]))
        text[--end] = '\0';
    char *line = strrchr(text, '\n');
    line = line ? line + 1 : text;
    line[text_fit(line, ERROR_MAX)] = '\0';
    if (!*line)
        return NULL;
    json_t *string = json_string(line); /* a line that is not UTF-8 is left out */
    char *said = string ? xstrdup(line) : NULL;
    json_decref(string);
    return said;
}

/* The program has ended, or could not be started. Another program gets its place. */
static void notifier_end(struct notifier *notifier, const char *failure, const char *said)
{
    struct notify *notify = notifier->notify;
    notify_record(notify->loop, notifier->notice, failure, said);
    for (size_t i = 0; i < NOTIFY_AT_ONCE_MAX; i++)
        if (notify->notifiers[i] == notifier)
            notify->notifiers[i] = NULL;
    loop_look(notify->loop, &notify_room, 0);
    uv_close((uv_handle_t *)&notifier->process, notifier_closed);
}

/* timeout(1) exits with 124 if TERM has ended the program. KILL ends timeout(1), too. A program
 * that exits with 124 by itself does so earlier. */
static bool notifier_was_late(const struct notifier *notifier, int64_t exit_code, int signal)
{
    uint64_t limit_ns = strtoull(NOTIFY_LIMIT_S, NULL, 10) * 1000000000;
    return uv_hrtime() - notifier->started_ns >= limit_ns &&
           (exit_code == EXIT_OF_TIMEOUT || signal == SIGKILL);
}

static void notifier_exited(uv_process_t *process, int64_t exit_code, int signal)
{
    struct notifier *notifier = process->data;
    char failure[64] = "did not end within " NOTIFY_LIMIT_S " s", *said = notifier_said(notifier);
    if (!notifier_was_late(notifier, exit_code, signal))
        (void)snprintf(failure, sizeof failure, "exited with %lld",
                       (long long)(signal ? 128 + signal : exit_code));
    notifier_end(notifier, exit_code || signal ? failure : NULL, said);
    if (notifier->errors >= 0) /* it was polled before */
        (void)uv_poll_start(&notifier->readable, UV_DISCONNECT, notifier_readable);
    free(said);
}

/* One text of a curl configuration. */
static void add_config(struct text *text, const char *key, const char *value)
{
    text_addf(text, "%s = \"", key);
    for (const char *at = value; *at; at++)
        text_addf(text, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
    text_add(text, "\"\n");
}

/* Writes what the program reads: the notice as JSON, or for curl how to send the notice. */
static void notifier_input(const json_t *notice, struct text *text)
{
    json_t *told = json_pack(
        "{s:O, s:O, s:O, s:O, s:O, s:O}", "kind", json_object_get(notice, "kind"), "workflow",
        json_object_get(notice, "workflow"), "name", json_object_get(notice, "name"), "address",
        json_object_get(notice, "address"), "message", json_object_get(notice, "message"), "time",
        json_object_get(notice, "time"));
    char *json = json_text(told, JSON_COMPACT | JSON_ENSURE_ASCII);
    if (text_equal(json_member_text(notice, "way"), "webhook")) {
        text_add(text,
                 "silent\nshow-error\nfail\nmax-time = 20\n"
                 "proto = \"=http,https\"\nproto-redir = \"=http,https\"\ngloboff\n"
                 "location\npost301\npost302\npost303\nmax-redirs = 3\noutput = \"/dev/null\"\n"
                 "header = \"Content-Type: application/json\"\n");
        add_config(text, "url", json_member_text(notice, "target"));
        add_config(text, "data", json);
    } else {
        text_addf(text, "%s\n", json);
    }
    free(json);
    json_decref(told);
}

/* Returns a file in memory with the program's input, at its beginning, or a negative errno. */
static int notifier_open(const json_t *notice)
{
    struct text text = {0};
    notifier_input(notice, &text);
    int fd = file_in_memory(text_string(&text), text.size, NULL);
    text_fini(&text);
    return fd;
}

/* Returns the end of a pipe for the program's standard error. Negative: there is no pipe, and what
 * the program says is lost. A socket in its place could not be opened as /dev/stderr. */
static int notifier_open_errors(struct notifier *notifier)
{
    int ends[2];
    notifier->errors = -1;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    if (uv_poll_init(loop_config(notifier->notify->loop)->uv, &notifier->readable, ends[0]) < 0) {
        (void)close(ends[0]); /* nothing was written */
        (void)close(ends[1]);
        return -1;
    }
    notifier->handles++;
    notifier->readable.data = notifier;
    notifier->errors = ends[0];
    (void)uv_poll_start(&notifier->readable, UV_READABLE, notifier_readable); /* it is open */
    return ends[1];
}

/* Returns the daemon's environment with what the notice says. The caller frees the list and its
 * texts. */
static char **notifier_environment(const json_t *notice)
{
    static const char *const keys[] = {"kind", "address", "name", "message"};
    static const char *const names[] = {"KIND", "ADDRESS", "WORKFLOW", "MESSAGE"};
    size_t count = 0;
    while (environ[count])
        count++;
    char **environment = xcalloc(count + 5, sizeof *environment);
    for (size_t i = 0; i < count; i++)
        environment[i] = xstrdup(environ[i]);
    for (size_t i = 0; i < 4; i++)
        environment[count + i] =
            text_format("PHASED_NOTICE_%s=%s", names[i], json_member_text(notice, keys[i]));
    return environment;
}

static void notifier_start(struct notify *notify, struct notifier **place, json_t *notice)
{
    struct loop *loop = notify->loop;
    const char *target = json_member_text(notice, "target");
    bool is_command = text_equal(json_member_text(notice, "way"), "command");
    /* The target may not be valid: the record may be older than the check of files, or somebody
     * else may have written to it. A second line in a webhook's address would be an option of curl.
     */
    if (is_command ? !notify_is_command(target) : !notify_is_webhook(target)) {
        notify_post(loop, notice, 0,
                    text_format("the %s of notify is refused: see 'phasectl check' of its file",
                                json_member_text(notice, "way")));
        return;
    }
    const char *arguments[sizeof notify_webhook / sizeof *notify_webhook + 1];
    memcpy(arguments, is_command ? notify_command : notify_webhook,
           is_command ? sizeof notify_command : sizeof notify_webhook);
    if (is_command)
        arguments[6] = target;
    int fd = notifier_open(notice);
    if (fd < 0) {
        notify_record(loop, notice, "could not be started", strerror(-fd));
        return;
    }
    struct notifier *notifier = xcalloc(1, sizeof *notifier);
    *notifier = (struct notifier){
        .notify = notify, .notice = json_incref(notice), .handles = 1, .started_ns = uv_hrtime()};
    notifier->process.data = notifier;
    LIST_INSERT_HEAD(&notify->all, notifier, link);
    loop_hold(loop);
    int errors = notifier_open_errors(notifier);
    char **environment = notifier_environment(notice);
    uv_stdio_container_t streams[] = {
        {.flags = UV_INHERIT_FD, .data.fd = fd},
        {.flags = UV_IGNORE},
        {.flags = errors < 0 ? UV_IGNORE : UV_INHERIT_FD, .data.fd = errors}};
    const uv_process_options_t options = {
        .exit_cb = notifier_exited,
        .file = arguments[0],
        .args = (char **)arguments,
        .env = environment,
        .cwd = loop_config(loop)->home->path,
        .stdio_count = sizeof streams / sizeof streams[0],
        .stdio = streams,
    };
    int status = uv_spawn(loop_config(loop)->uv, &notifier->process, &options);
    (void)close(fd); /* the program has its own copies */
    if (errors >= 0)
        (void)close(errors);
    for (char **at = environment; *at; at++)
        free(*at);
    free(environment);
    *place = notifier;
    if (status < 0) {
        char why[128];
        (void)snprintf(why, sizeof why, "%s: %s", arguments[0], strerror(-status));
        notifier_end(notifier, "could not be started", why);
    }
}

/* The record does not say which notices are being told, and lists them again. They are skipped. */
static bool is_under_way(const struct notify *notify, uint64_t id)
{
    for (size_t i = 0; i < NOTIFY_AT_ONCE_MAX; i++)
        if (notify->notifiers[i] && notice_number(notify->notifiers[i]->notice, "notice") == id)
            return true;
    return false;
}

static struct notifier **free_place(struct notify *notify)
{
    for (size_t i = 0; i < NOTIFY_AT_ONCE_MAX; i++)
        if (!notify->notifiers[i])
            return &notify->notifiers[i];
    return NULL;
}

static void notify_look(void *state)
{
    struct notify *notify = state;
    json_t *notices, *notice;
    size_t i;
    struct error err;
    if (store_notices(loop_store(notify->loop), loop_now_ms(), 2 * NOTIFY_AT_ONCE_MAX, &notices,
                      &err) < 0) {
        log_line("could not read the notices: %s", err.message);
        return;
    }
    json_array_foreach(notices, i, notice)
    {
        struct notifier **place = free_place(notify);
        if (place && !is_under_way(notify, notice_number(notice, "notice")))
            notifier_start(notify, place, notice);
    }
    json_decref(notices);
}

/* --- The room --------------------------------------------------------------------------------- */

/* Ends the programs that run. Their notices are told again after the next start. */
static void notify_close(void *state)
{
    struct notify *notify = state;
    struct notifier *notifier;
    for (size_t i = 0; i < NOTIFY_AT_ONCE_MAX; i++) {
        notifier = notify->notifiers[i];
        if (!notifier)
            continue;
        (void)uv_process_kill(&notifier->process, SIGTERM); /* the program may be gone */
        uv_close((uv_handle_t *)&notifier->process, notifier_closed);
    }
    LIST_FOREACH(notifier, &notify->all, link) notifier_close_errors(notifier);
}

const struct room notify_room = {
    .state_size = sizeof(struct notify),
    .every_ms = NOTIFY_EVERY_MS,
    .looks_at_once = true,
    .look = notify_look,
    .close = notify_close,
};
