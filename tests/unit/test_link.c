/* The link of the worker to the daemon: what arrives, in what order, and whom the worker
 * believes. */
#include "tests/unit/unit.h"

#include "lib/clock.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "tests/unit/http_server.h"
#include "worker/protocol/journal.h"
#include "worker/protocol/link.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_MS = 60000, STRANGER_MAX = 16 * 1024 };

/* A daemon that lives longer than its servers, as the record lives longer than the daemon. */
struct record {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t committed;
    uint64_t batch_max; /* accepts no more entries of one push; 0: all */
    unsigned breaches;  /* entries out of order, or twice */
    bool is_new;        /* it has just started, and has accepted nothing yet */
    size_t first_size;  /* size of the first push */
    char *command;      /* its answer to the lead; owned */
    unsigned commands;  /* commands that the lead got */
    bool is_full;       /* it cannot be written */
    unsigned refused;   /* pushes that it could not take */
    unsigned polls;
    json_int_t command_number;
    unsigned looks; /* at the file of commands */
};

/* A client of NFS that has seen neither the file of commands nor its folder. It remembers that they
 * do not exist until the folder above is opened again. */
struct nfs {
    bool has_folder, has_file; /* what the client knows */
    char *folder, *file;       /* NULL: no NFS */
};

static const struct mac_secret secret = {.key = {7, 7, 7}};
static char folder[32];
static char *daemon_file, *journal_file;
static struct record record;
static struct nfs nfs;
static struct journal *journal;

static int make_folder(void **state)
{
    (void)state;
    memcpy(folder, "/tmp/phased-test-XXXXXX", sizeof("/tmp/phased-test-XXXXXX"));
    assert_non_null(mkdtemp(folder));
    daemon_file = text_format("%s/daemon.json", folder);
    journal_file = text_format("%s/n1.jsonl", folder);
    memset(&record, 0, sizeof(record));
    pthread_mutex_init(&record.mutex, NULL);
    pthread_cond_init(&record.changed, NULL);
    journal = journal_open(journal_file);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    journal_close(journal);
    pthread_mutex_destroy(&record.mutex);
    pthread_cond_destroy(&record.changed);
    free(record.command);
    unlink(daemon_file);
    unlink(journal_file);
    free(daemon_file);
    free(journal_file);
    return rmdir(folder);
}

/* --- NFS -------------------------------------------------------------------------------------- */

/* These stand in for the functions of libc, for the link too. */
int open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    va_list args;
    va_start(args, flags);
    if (flags & O_CREAT)
        mode = va_arg(args, mode_t);
    va_end(args);
    bool is_hidden = false;
    pthread_mutex_lock(&record.mutex);
    if (nfs.file && text_equal(path, nfs.file)) {
        is_hidden = !nfs.has_folder || !nfs.has_file;
        record.looks++;
        pthread_cond_broadcast(&record.changed);
    }
    pthread_mutex_unlock(&record.mutex);
    errno = ENOENT;
    return is_hidden ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

DIR *opendir(const char *path)
{
    pthread_mutex_lock(&record.mutex);
    if (nfs.folder && text_equal(path, folder))
        nfs.has_folder = access(nfs.folder, F_OK) == 0;
    if (nfs.folder && text_equal(path, nfs.folder) && nfs.has_folder)
        nfs.has_file = access(nfs.file, F_OK) == 0;
    pthread_mutex_unlock(&record.mutex);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    return fd < 0 ? NULL : fdopendir(fd);
}

/* --- The daemon ------------------------------------------------------------------------------- */

static char *take(const char *body)
{
    json_t *message = json_loads(body, 0, NULL), *entry;
    uint64_t taken = 0;
    size_t i;
    if (record.is_new)
        record.first_size = strlen(body);
    record.is_new = false;
    assert_string_equal(json_string_value(json_object_get(message, "node")), "n1");
    json_array_foreach(json_object_get(message, "entries"), i, entry)
    {
        uint64_t seq = (uint64_t)json_integer_value(json_object_get(entry, "seq"));
        bool is_next = seq == record.committed + 1;
        record.breaches += seq > record.committed + 1;
        if (is_next && (!record.batch_max || taken++ < record.batch_max))
            record.committed = seq;
    }
    json_decref(message);
    return text_format("{\"committed\": %llu}", (unsigned long long)record.committed);
}

static char *answer(void *context, const char *method, const char *path, const char *body,
                    int *ret_status)
{
    (void)context;
    pthread_mutex_lock(&record.mutex);
    char *reply = NULL;
    bool is_push = text_equal(method, "POST");
    record.polls += !is_push;
    if (record.is_full) {
        record.refused += is_push;
        *ret_status = is_push ? 503 : 200;
        reply =
            xstrdup(is_push ? "{\"error\": {\"code\": \"busy\", \"message\": \"full\"}}" : "{}");
    } else if (text_equal(method, "POST") && text_equal(path, "/v1/worker/12/journal"))
        reply = take(body);
    else if (record.command && text_equal(path, "/v1/worker/12/command?after=0"))
        reply = xstrdup(record.command);
    pthread_cond_broadcast(&record.changed);
    pthread_mutex_unlock(&record.mutex);
    return reply; /* no answer: the link waits, as if the daemon had nothing to say */
}

static struct http_server *start_daemon(bool signs_wrongly)
{
    const struct http_server_options options = {
        .secret = &secret, .signs_wrongly = signs_wrongly, .answer = answer};
    record.is_new = true;
    struct http_server *server = http_server_start(&options);
    char *text = text_format("{\"host\": \"127.0.0.1\", \"port\": %u}", http_server_port(server));
    assert_int_equal(file_replace(daemon_file, text, strlen(text), 0600, NULL), 0);
    free(text);
    return server;
}

static void command_came(void *context, json_t *command)
{
    (void)context;
    pthread_mutex_lock(&record.mutex);
    record.commands++;
    record.command_number = json_integer_value(json_object_get(command, "number"));
    pthread_cond_broadcast(&record.changed);
    pthread_mutex_unlock(&record.mutex);
    json_decref(command);
}

static struct link *open_link(link_command_came *came)
{
    const struct link_options options = {
        .daemon_file = daemon_file,
        .run = 12,
        .node = "n1",
        .secret = &secret,
        .journal = journal,
        .command_file = nfs.file,
        .command_came = came,
    };
    return link_open(&options);
}

static void add(int count)
{
    for (int i = 0; i < count; i++)
        journal_add(journal, &(struct entry){.type = ENTRY_METRIC, .step = i});
    journal_flush(journal);
}

/* Waits for the next request. The caller has locked the record. */
static void await_change(void)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += WAIT_MS / 1000;
    assert_int_equal(pthread_cond_timedwait(&record.changed, &record.mutex, &end), 0);
}

/* Waits until the record has so many entries, and the lead so many commands. */
static void await_record(uint64_t committed, unsigned commands)
{
    pthread_mutex_lock(&record.mutex);
    while (record.committed < committed || record.commands < commands)
        await_change();
    pthread_mutex_unlock(&record.mutex);
}

static void entries_arrive_once_and_in_order(void **state)
{
    (void)state;
    struct http_server *server = start_daemon(false);
    struct link *link = open_link(NULL);
    for (unsigned i = 1; i <= 20; i++) {
        add(100);
        link_wake(link, i % 5 ? LINK_SOON : LINK_NOW);
        if (i % 5 == 0)
            await_record((uint64_t)i * 100, 0);
    }
    link_close(link, WAIT_MS);
    assert_int_equal(record.committed, 2000);
    assert_int_equal(record.breaches, 0);
    http_server_end(server);
}

static void a_large_backlog_is_sent_in_batches_without_pauses(void **state)
{
    (void)state;
    add(20000);
    struct http_server *server = start_daemon(false);
    struct link *link = open_link(NULL);
    link_close(link, WAIT_MS);
    assert_int_equal(record.committed, 20000);
    assert_true(http_server_right_codes(server) > 3);
    http_server_end(server);
}

static void a_daemon_that_starts_later_gets_all_entries(void **state)
{
    (void)state;
    struct link *link = open_link(NULL);
    add(10);
    link_wake(link, LINK_NOW);
    struct http_server *server = start_daemon(false);
    await_record(10, 0);
    http_server_end(server);
    add(10);
    link_wake(link, LINK_NOW);
    server = start_daemon(false); /* on another port */
    await_record(20, 0);
    link_close(link, WAIT_MS);
    assert_int_equal(record.breaches, 0);
    http_server_end(server);
}

/* All workers connect at once, and the daemon knows none of their connections. */
static void a_daemon_that_comes_back_gets_little_until_it_has_answered(void **state)
{
    (void)state;
    add(20000);
    struct http_server *server = start_daemon(false);
    struct link *link = open_link(NULL);
    await_record(20000, 0);
    assert_in_range(record.first_size, 1, STRANGER_MAX);
    http_server_end(server);
    add(20000);
    server = start_daemon(false);
    await_record(40000, 0);
    assert_in_range(record.first_size, 1, STRANGER_MAX);
    link_close(link, WAIT_MS);
    http_server_end(server);
}

static void closing_does_not_wait_for_a_daemon_that_is_away(void **state)
{
    (void)state;
    struct link *link = open_link(NULL);
    add(10);
    int64_t begin_ms = clock_steady_ms();
    link_close(link, 2 * WAIT_MS);
    assert_true(clock_steady_ms() - begin_ms < WAIT_MS);
}

static void the_link_sends_entries_again_that_the_daemon_did_not_record(void **state)
{
    (void)state;
    record.batch_max = 7;
    struct http_server *server = start_daemon(false);
    struct link *link = open_link(NULL);
    add(20);
    link_wake(link, LINK_NOW);
    await_record(7, 0);
    pthread_mutex_lock(&record.mutex);
    record.batch_max = 0;
    record.committed = 3; /* its record was replaced by an older one */
    pthread_mutex_unlock(&record.mutex);
    add(1);
    link_wake(link, LINK_NOW);
    await_record(21, 0);
    link_close(link, WAIT_MS);
    http_server_end(server);
}

static void a_command_comes_once(void **state)
{
    (void)state;
    record.command = text_format("{\"number\": 1, \"verb\": \"end\"}");
    struct http_server *server = start_daemon(false);
    struct link *link = open_link(command_came);
    await_record(0, 1);
    link_close(link, 0);
    assert_int_equal(record.commands, 1);
    assert_int_equal(record.command_number, 1);
    http_server_end(server);
}

static void a_false_daemon_is_neither_believed_nor_obeyed(void **state)
{
    (void)state;
    record.command = text_format("{\"number\": 1, \"verb\": \"end\"}");
    struct http_server *server = start_daemon(true);
    struct link *link = open_link(command_came);
    add(5);
    link_wake(link, LINK_NOW);
    await_record(5, 0); /* it accepted them, but its answer does not count */
    http_server_end(server);
    assert_int_equal(record.commands, 0);
    record.committed = 0;
    server = start_daemon(false);
    link_wake(link, LINK_NOW);
    await_record(5, 1);
    link_close(link, WAIT_MS);
    http_server_end(server);
}

/* The daemon answers polls, but its record cannot be written for a while. */
static void a_failure_that_lasts_is_told_once(void **state)
{
    (void)state;
    char *told, *said = text_format("%s/said", folder);
    int own = dup(STDERR_FILENO), file = open(said, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(own >= 0 && file >= 0 && dup2(file, STDERR_FILENO) == STDERR_FILENO);
    record.is_full = true;
    struct http_server *server = start_daemon(false);
    struct link *link = open_link(command_came);
    add(3);
    pthread_mutex_lock(&record.mutex);
    while (record.refused < 3 || record.polls < 3)
        await_change();
    record.is_full = false;
    pthread_mutex_unlock(&record.mutex);
    await_record(3, 0);
    for (int i = 0; i < WAIT_MS && !link_is_heard(link); i++)
        (void)poll(NULL, 0, 1); /* until the link has read the answer */
    link_close(link, WAIT_MS);
    http_server_end(server);
    assert_int_equal(dup2(own, STDERR_FILENO), STDERR_FILENO);
    assert_int_equal(file_read(said, 1 << 20, &told, NULL, NULL), 0);
    assert_int_equal(text_count_lines(told), 2);
    assert_non_null(strstr(told, "; the work goes on\n"));
    assert_non_null(strstr(told, "the daemon answers again\n"));
    free(told);
    close(own);
    close(file);
    unlink(said);
    free(said);
}

static void a_command_in_a_new_file_is_seen_on_nfs(void **state)
{
    (void)state;
    static const char command[] = "{\"number\": 1, \"verb\": \"end\"}";
    nfs = (struct nfs){.folder = text_format("%s/control", folder),
                       .file = text_format("%s/control/command.json", folder)};
    struct link *link = open_link(command_came);
    pthread_mutex_lock(&record.mutex);
    while (record.looks == 0)
        await_change();
    pthread_mutex_unlock(&record.mutex);
    assert_int_equal(mkdir(nfs.folder, 0700), 0);
    assert_int_equal(file_replace(nfs.file, command, strlen(command), 0600, NULL), 0);
    await_record(0, 1);
    link_close(link, 0);
    assert_int_equal(unlink(nfs.file), 0);
    assert_int_equal(rmdir(nfs.folder), 0);
    free(nfs.folder);
    free(nfs.file);
    nfs = (struct nfs){0};
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(entries_arrive_once_and_in_order),
        TEST(a_large_backlog_is_sent_in_batches_without_pauses),
        TEST(a_daemon_that_starts_later_gets_all_entries),
        TEST(a_daemon_that_comes_back_gets_little_until_it_has_answered),
        TEST(closing_does_not_wait_for_a_daemon_that_is_away),
        TEST(the_link_sends_entries_again_that_the_daemon_did_not_record),
        TEST(a_command_comes_once),
        TEST(a_failure_that_lasts_is_told_once),
        TEST(a_false_daemon_is_neither_believed_nor_obeyed),
        TEST(a_command_in_a_new_file_is_seen_on_nfs),
    };
    return cmocka_run_group_tests_name("link", tests, NULL, NULL);
}
