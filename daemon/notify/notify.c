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
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    NOTIFY_EVERY_MS = 2000,
    NOTIFY_AT_ONCE_MAX = 4,
    NOTIFY_GIVE_UP_MS = 24 * 3600 * 1000,
};

/* timeout(1) ends a program that hangs, with its whole process group: TERM after 30 s, KILL five
 * seconds later. */
static const char *const notify_command[] = {"timeout", "-k", "5", "30", "sh", "-c", NULL, NULL};
/* curl reads its whole configuration from its input. An address may hold secrets, and `ps` shows
 * arguments. */
static const char *const notify_webhook[] = {"timeout", "-k",       "5", "30", "curl",
                                             "-q",      "--config", "-", NULL};

enum { ERRORS_SIZE = 4096, ERROR_MAX = 160 };

/* One notice that is being told. */
struct notifier {
    uv_process_t process;
    struct notify *notify;
    json_t *notice;
    int errors; /* a file in memory with its standard error; negative: no file */
};

struct notify {
    struct loop *loop;
    struct notifier *notifiers[NOTIFY_AT_ONCE_MAX]; /* the programs that run; NULL: no program */
};

/* When a notice is due again that was tried `tries` times, including this time. */
static int64_t notify_retry_at(int64_t now_ms, unsigned tries)
{
    int64_t delay_ms = NOTICE_RETRY_FIRST_MS;
    for (unsigned i = 1; i < tries && delay_ms < NOTICE_RETRY_LAST_MS; i++)
        delay_ms *= 2;
    return now_ms + (delay_ms < NOTICE_RETRY_LAST_MS ? delay_ms : NOTICE_RETRY_LAST_MS);
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

/* `said` is the program's last message; NULL: no message. */
static void notify_record(struct loop *loop, const json_t *notice, int64_t exit_code,
                          const char *said)
{
    unsigned tries = (unsigned)notice_number(notice, "tries") + 1;
    int64_t now_ms = loop_now_ms();
    double told_s = json_number_value(json_object_get(notice, "time"));
    bool gives_up = (double)now_ms - told_s * 1000 > NOTIFY_GIVE_UP_MS;
    char *warning = NULL;
    const char *kind = json_member_text(notice, "kind"), *way = json_member_text(notice, "way");
    if (exit_code && (tries == 1 || gives_up))
        warning = text_format("the %s of notify exited with %lld, telling of '%s'%s%s; %s", way,
                              (long long)exit_code, kind, said ? ": " : "", said ? said : "",
                              gives_up ? "given up" : "it will be tried again for a day");
    log_line("notice of workflow %llu, %s, by its %s: %s",
             (unsigned long long)notice_number(notice, "workflow"), kind, way,
             exit_code ? "not told" : "told");
    notify_post(loop, notice, exit_code && !gives_up ? notify_retry_at(now_ms, tries) : 0, warning);
}

/* --- Telling ---------------------------------------------------------------------------------- */

static void notifier_closed(uv_handle_t *handle)
{
    struct notifier *notifier = handle->data;
    struct loop *loop = notifier->notify->loop;
    json_decref(notifier->notice);
    if (notifier->errors >= 0)
        (void)close(notifier->errors);
    free(notifier);
    loop_release(loop);
}

/* The last line of the program's standard error; the caller frees it. NULL: nothing. */
static char *notifier_said(const struct notifier *notifier)
{
    char text[ERRORS_SIZE + 1];
    ssize_t size = notifier->errors >= 0 ? pread(notifier->errors, text, ERRORS_SIZE, 0) : 0;
    text[size > 0 ? size : 0] = '\0'; /* the rest of the file is NULs, too */
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

static void notifier_exited(uv_process_t *process, int64_t exit_code, int signal)
{
    struct notifier *notifier = process->data;
    struct notify *notify = notifier->notify;
    char *said = notifier_said(notifier);
    notify_record(notify->loop, notifier->notice, signal ? 128 + signal : exit_code, said);
    free(said);
    for (size_t i = 0; i < NOTIFY_AT_ONCE_MAX; i++)
        if (notify->notifiers[i] == notifier)
            notify->notifiers[i] = NULL;
    loop_look(notify->loop, &notify_room, 0);
    uv_close((uv_handle_t *)process, notifier_closed);
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

/* Returns a file in memory that cannot grow. What a program writes beyond its size is lost. */
static int notifier_open_errors(void)
{
    int fd = memfd_create("errors", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 &&
        (ftruncate(fd, ERRORS_SIZE) < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK))) {
        (void)close(fd); /* it is empty */
        fd = -1;
    }
    return fd;
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
        notify_record(loop, notice, -fd, strerror(-fd));
        return;
    }
    struct notifier *notifier = xcalloc(1, sizeof *notifier);
    *notifier = (struct notifier){
        .notify = notify, .notice = json_incref(notice), .errors = notifier_open_errors()};
    notifier->process.data = notifier;
    loop_hold(loop);
    char **environment = notifier_environment(notice);
    uv_stdio_container_t streams[] = {
        {.flags = UV_INHERIT_FD, .data.fd = fd},
        {.flags = UV_IGNORE},
        {.flags = notifier->errors < 0 ? UV_IGNORE : UV_INHERIT_FD, .data.fd = notifier->errors}};
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
    (void)close(fd); /* the program has its own copy */
    for (char **at = environment; *at; at++)
        free(*at);
    free(environment);
    *place = notifier;
    if (status < 0) /* the same status that a shell gives */
        notifier_exited(&notifier->process, 127, 0);
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
    for (size_t i = 0; i < NOTIFY_AT_ONCE_MAX; i++) {
        struct notifier *notifier = notify->notifiers[i];
        if (!notifier)
            continue;
        (void)uv_process_kill(&notifier->process, SIGTERM); /* the program may be gone */
        uv_close((uv_handle_t *)&notifier->process, notifier_closed);
    }
}

const struct room notify_room = {
    .state_size = sizeof(struct notify),
    .every_ms = NOTIFY_EVERY_MS,
    .looks_at_once = true,
    .look = notify_look,
    .close = notify_close,
};
