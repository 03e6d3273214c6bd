/* Runs and metrics, read while no daemon runs. */
#include "tests/unit/folder.h"
#include "tests/unit/http_server.h"
#include "tests/unit/unit.h"

#include "cli/cli.h"
#include "cli/reader/folder.h"
#include "cli/reader/reader.h"
#include "lib/address.h"
#include "lib/error.h"
#include "lib/expr/metrics.h"
#include "lib/file.h"
#include "lib/http.h"
#include "lib/metrics/columns.h"
#include "lib/option.h"
#include "lib/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* Makes a file, with its folders. */
static void put(const char *name, const char *text)
{
    char *path = text_format("%s/%s", folder, name), *parent = file_parent(path);
    assert_int_equal(file_make_folders(parent, 0700, NULL), 0);
    assert_int_equal(file_replace(path, text, strlen(text), 0600, NULL), 0);
    free(parent);
    free(path);
}

static void assert_newest(const char *asked, const char *expected)
{
    struct address address;
    char text[ADDRESS_TEXT_SIZE];
    assert_int_equal(address_parse(asked, &address, NULL), 0);
    assert_int_equal(folder_find_run(folder, &address, NULL), expected ? 0 : -ENOENT);
    assert_string_equal(address_text(&address, text), expected ? expected : asked);
}

static void the_newest_run_is_found_by_its_folder(void **state)
{
    (void)state;
    assert_newest("7", NULL);
    put("7/phased-01234567890123456789012345678901/claim", "{}");
    put("7/a/out/1", "");
    put("7/a/shards/12", "");
    assert_newest("7", NULL);
    assert_newest("7/a", NULL);
    put("7/a/2/run.json", "{\"run\": 12}");
    put("7/a/10/run.json", "{\"run\": 30}");
    put("7/b.3/1/run.json", "{\"run\": 31}");
    assert_newest("7", "7/b.3#1");
    assert_newest("7/a", "7/a#10");
    assert_newest("7/a#2", "7/a#2");
    assert_newest("7/a#3", NULL);
    assert_newest("7/c", NULL);
    /* A lead went on alone after run 31. Nobody can read the file of another run. */
    put("7/b.3/2/run.json", "{\"run\": 0, \"known_run\": 31}");
    put("7/a/11/run.json", "{\"run\"");
    assert_newest("7", "7/b.3#2");
    assert_newest("7/a", "7/a#11");
}

static void a_run_has_ended_when_its_folder_says_so(void **state)
{
    (void)state;
    const struct address run = {.workflow = 7, .phase = "a", .attempt = 2};
    put("7/a/2/run.json", "{}");
    assert_false(folder_has_ended(folder, &run));
    put("7/a/2/outcome.json", "{}");
    assert_true(folder_has_ended(folder, &run));
    const struct address other = {.workflow = 7, .phase = "b", .attempt = 1};
    put("7/b/1/tombstone.json", "{}");
    assert_true(folder_has_ended(folder, &other));
}

static void folders_tell_which_runs_there_are(void **state)
{
    (void)state;
    json_t *runs = json_object();
    char *name = NULL;
    folder_add_runs(folder, 7, runs, &name); /* there is no folder */
    assert_null(name);
    put("7/a/out/1", "");
    put("7/a/3/run.json", "{\"run\"");
    put("7/a/1/run.json", "{\"workflow_name\": \"trm\", \"resume\": null}");
    put("7/a/2/run.json",
        "{\"workflow_name\": \"trm\", \"resume\": {\"path\": \"/s\", \"step\": 60}}");
    put("8/a/1/run.json", "{\"workflow_name\": \"other\", \"resume\": null}");
    folder_add_runs(folder, 7, runs, &name);
    char *text = json_dumps(runs, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(name, "trm");
    assert_string_equal(
        text, "{\"7/a#1\":{\"attempt\":1,\"first_step\":0,\"phase\":\"a\",\"resume\":null},"
              "\"7/a#2\":{\"attempt\":2,\"first_step\":60,\"phase\":\"a\",\"resume\":\"/s\"}}");
    free(text);
    free(name);
    json_decref(runs);
}

static void assert_columns(struct metrics *metrics, const struct option_list *names, unsigned last,
                           const char *expected)
{
    json_t *json = columns_json(metrics, names->items, names->count, last);
    char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(6));
    assert_string_equal(text, expected);
    free(text);
    json_decref(json);
}

static void series_share_one_list_of_steps(void **state)
{
    (void)state;
    static const struct option_list all = {.count = 0};
    static const struct option_list two = {.items = {"lr", "other"}, .count = 2};
    static const struct option_list twice = {.items = {"lr", "lr"}, .count = 2};
    struct metrics *metrics = metrics_new();
    assert_columns(metrics, &all, 0, "{\"steps\":[],\"times\":[],\"series\":{}}");
    metrics_add(metrics, "loss", 2, 20, 4.5);
    metrics_add(metrics, "loss", 1, 10.5, NAN);
    metrics_add(metrics, "lr", 2, 22, INFINITY);
    metrics_add(metrics, "lr", 4, 40, -INFINITY);
    metrics_add(metrics, "loss", 2, 21, 3.5); /* the newer value counts */
    assert_columns(
        metrics, &all, 0,
        "{\"steps\":[1,2,4],\"times\":[10.5,21.0,40.0],\"series\":{\"loss\":[\"nan\",3.5,null],"
        "\"lr\":[null,\"inf\",\"-inf\"]}}");
    assert_columns(metrics, &all, 2,
                   "{\"steps\":[2,4],\"times\":[21.0,40.0],\"series\":{\"loss\":[3.5,null],\"lr\":["
                   "\"inf\",\"-inf\"]}}");
    assert_columns(
        metrics, &two, 1,
        "{\"steps\":[4],\"times\":[40.0],\"series\":{\"lr\":[\"-inf\"],\"other\":[null]}}");
    assert_columns(metrics, &two, 9,
                   "{\"steps\":[2,4],\"times\":[22.0,40.0],\"series\":{\"lr\":[\"inf\",\"-inf\"],"
                   "\"other\":[null,null]}}");
    assert_columns(metrics, &twice, 1,
                   "{\"steps\":[4],\"times\":[40.0],\"series\":{\"lr\":[\"-inf\"]}}");
    metrics_free(metrics);
}

static void journals_are_readable_after_any_crash(void **state)
{
    (void)state;
    static const struct option_list all = {.count = 0};
    const struct address run = {.workflow = 7, .phase = "a", .attempt = 2};
    struct metrics *metrics = metrics_new();
    folder_add_metrics(folder, &run, metrics); /* there is no folder */
    put("7/a/2/journal/lead.jsonl", "{\"seq\": 1, \"type\": \"started\"}\n");
    put("7/a/2/journal/n1.jsonl",
        "{\"seq\":1,\"time\":1.5,\"type\":\"metric\",\"step\":1,\"values\":{\"loss\":5}}\n"
        "{\"seq\":2,\"time\":1.5,\"type\":\"metric\",\"step\":2,\"val\n"
        "{\"seq\":2,\"type\":\"warning\",\"message\":\"a \\\"metric\\\" is missing\"}\n"
        "[\"metric\"]\n"
        "{\"seq\":3,\"time\":2,\"type\":\"metric\",\"step\":2,\"values\":{\"loss\":\"nan\"}}\n"
        "{\"seq\":4,\"time\":2,\"type\":\"metric\",\"step\":3,\"values\":{\"loss\":2}}\n"
        "{\"seq\":5,\"time\":2,\"type\":\"metric\",\"st");
    put("7/a/2/journal/notes.txt", "{\"type\":\"metric\",\"step\":9,\"values\":{\"loss\":2}}\n");
    folder_add_metrics(folder, &run, metrics);
    assert_columns(
        metrics, &all, 0,
        "{\"steps\":[1,2,3],\"times\":[1.5,2.0,2.0],\"series\":{\"loss\":[5.0,\"nan\",2.0]}}");
    metrics_free(metrics);
}

enum { BIG_FIRST = 100, BIG_LAST = 103 };

/* Answers that were too long. */
static int big_answers;

/* A daemon that has too much for one answer about three steps. */
static char *answer_big_run(void *context, const char *method, const char *path, const char *body,
                            int *ret_status)
{
    static const char beginning[] = "/v1/workflows/7/phases/a/runs/2/metrics?";
    int from = BIG_FIRST, to = BIG_LAST;
    (void)context;
    (void)method;
    (void)body;
    if (text_equal(path, "/v1/ping"))
        return text_format("{}");
    if (!text_starts(path, beginning)) {
        *ret_status = 500;
        return text_format("{}");
    }
    const char *query = path + strlen(beginning);
    if (text_starts(query, "last=1&"))
        from = BIG_LAST;
    else if (text_starts(query, "buckets=1&"))
        return text_format("{\"steps\": [%d, %d], \"times\": [1, 1], \"series\": {}}", from, to);
    else
        (void)sscanf(query, "from=%d&to=%d&", &from, &to); /* not there: all steps */
    assert_non_null(strstr(query, "&name=loss"));
    if (to - from >= 2) {
        big_answers++;
        return text_format("{%*s}", 64 << 20, "");
    }
    struct metrics *metrics = metrics_new();
    for (int step = from; step <= to; step++)
        metrics_add(metrics, "loss", step, step / 2.0,
                    step == BIG_LAST ? (double)NAN : (double)step);
    json_t *json = columns_json(metrics, NULL, 0, 0);
    char *text = json_dumps(json, 0);
    json_decref(json);
    metrics_free(metrics);
    return text;
}

static void assert_json(json_t *json, const char *expected)
{
    char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(6));
    assert_string_equal(text, expected);
    free(text);
    json_decref(json);
}

/* On a network file system, the daemon holds the record. */
static const char held_record[] = "PRAGMA locking_mode = EXCLUSIVE; CREATE TABLE run (id)";

/* Makes the record of the home. The caller closes it. */
static sqlite3 *make_record(const struct cli *cli, const char *statements)
{
    sqlite3 *record;
    assert_int_equal(sqlite3_open(cli->home.database, &record), SQLITE_OK);
    assert_int_equal(sqlite3_exec(record, statements, NULL, NULL, NULL), SQLITE_OK);
    return record;
}

static void metrics_that_no_answer_can_hold_come_in_parts(void **state)
{
    (void)state;
    static const struct option_list loss = {.items = {"loss"}, .count = 1};
    const struct address run = {.workflow = 7, .phase = "a", .attempt = 2};
    struct cli cli = {.as_json = true};
    struct error err;
    json_t *json = NULL;
    assert_int_equal(home_init(&cli.home, folder, &err), 0);
    sqlite3 *record = make_record(&cli, held_record);
    const struct http_server_options options = {.socket_path = cli.home.socket,
                                                .answer = answer_big_run};
    struct http_server *server = http_server_start(&options);
    big_answers = 0;
    assert_int_equal(reader_get_metrics(&cli, &run, &loss, 0, &json, &err), 0);
    assert_int_equal(big_answers, 1); /* what one answer cannot hold is not asked for again */
    assert_json(json, "{\"steps\":[100,101,102,103],\"times\":[50.0,50.5,51.0,51.5],"
                      "\"series\":{\"loss\":[100.0,101.0,102.0,\"nan\"]}}");
    assert_int_equal(reader_get_metrics(&cli, &run, &loss, 3, &json, &err), 0);
    assert_int_equal(json_array_size(json_object_get(json, "steps")), 3);
    json_decref(json);
    assert_false(cli.reads_files);
    http_client_free(cli.client);
    http_server_end(server);
    (void)sqlite3_close(record); /* nothing is to be kept */
    home_fini(&cli.home);
}

static void runs_and_metrics_are_read_from_the_record(void **state)
{
    (void)state;
    static const char rows[] =
        "CREATE TABLE workflow (id, name); INSERT INTO workflow VALUES (7, 'flow');"
        "CREATE TABLE phase (id, workflow, name); INSERT INTO phase VALUES (1, 7, 'a');"
        "CREATE TABLE run (id, phase, attempt, resume_path, resume_step);"
        "INSERT INTO run VALUES (11, 1, 2, '/c/5', 5);"
        "CREATE TABLE metric_name (id, name); INSERT INTO metric_name VALUES (3, 'loss');"
        "CREATE TABLE metric (run, name, step, value, time);"
        "INSERT INTO metric VALUES (11, 3, 6, 0.5, 1500), (11, 3, 7, NULL, 2500);";
    const struct address run = {.workflow = 7, .phase = "a", .attempt = 2};
    struct cli cli = {.as_json = true};
    struct error err;
    json_t *json = NULL;
    assert_int_equal(home_init(&cli.home, folder, &err), 0);
    assert_int_equal(sqlite3_close(make_record(&cli, rows)), SQLITE_OK);
    assert_int_equal(reader_get_history(&cli, &run, &json, &err), 0);
    assert_json(json, "{\"name\":\"flow\",\"is_over\":false,\"runs\":[{\"phase\":\"a\","
                      "\"attempt\":2,\"resume\":\"/c/5\",\"first_step\":5}]}");
    const struct option_list all = {.count = 0};
    assert_int_equal(reader_get_metrics(&cli, &run, &all, 0, &json, &err), 0);
    assert_json(json, "{\"steps\":[6,7],\"times\":[1.5,2.5],\"series\":{\"loss\":[0.5,\"nan\"]}}");
    http_client_free(cli.client);
    home_fini(&cli.home);
}

/* A daemon that has metrics of run 2 only. */
static char *answer_second_run(void *context, const char *method, const char *path,
                               const char *body, int *ret_status)
{
    (void)context, (void)method, (void)body, (void)ret_status;
    bool has_steps = text_starts(path, "/v1/workflows/7/phases/a/runs/2/metrics?");
    return text_format("{\"steps\": [%s], \"series\": {}}", has_steps ? "5" : "");
}

static void a_run_without_metrics_gives_way_to_the_run_before(void **state)
{
    (void)state;
    struct cli cli = {.as_json = true};
    struct error err;
    assert_int_equal(home_init(&cli.home, folder, &err), 0);
    const struct http_server_options options = {.socket_path = cli.home.socket,
                                                .answer = answer_second_run};
    struct http_server *server = http_server_start(&options);
    static const uint32_t found[] = {[1] = 1, [2] = 2, [3] = 2, [4] = 2};
    for (uint32_t attempt = 1; attempt <= 4; attempt++) {
        struct address run = {.workflow = 7, .phase = "a", .attempt = attempt};
        assert_int_equal(reader_find_metrics(&cli, &run, &err), 0);
        assert_int_equal(run.attempt, found[attempt]);
    }
    http_client_free(cli.client);
    http_server_end(server);
    home_fini(&cli.home);
}

/* A daemon that takes no ping. Counts the other questions. */
static char *refuse_ping(void *context, const char *method, const char *path, const char *body,
                         int *ret_status)
{
    (void)method, (void)body;
    if (text_equal(path, "/v1/ping"))
        *ret_status = 503;
    else
        (*(int *)context)++;
    return text_format("{\"error\": {\"code\": \"unavailable\", \"message\": \"busy\"}}");
}

static void no_question_follows_a_ping_that_failed(void **state)
{
    (void)state;
    int questions = 0;
    struct cli cli = {.as_json = true};
    struct error err;
    struct address run = {.workflow = 7, .phase = "a", .attempt = 2};
    assert_int_equal(home_init(&cli.home, folder, &err), 0);
    const struct http_server_options options = {
        .socket_path = cli.home.socket, .answer = refuse_ping, .context = &questions};
    struct http_server *server = http_server_start(&options);
    for (int i = 0; i < 2; i++) { /* also not a second time */
        assert_int_equal(reader_has_ended(&cli, &run, &err), -EAGAIN);
        assert_string_equal(err.message, "busy");
    }
    http_client_free(cli.client);
    http_server_end(server);
    assert_int_equal(questions, 0);
    home_fini(&cli.home);
}

static void files_answer_for_a_daemon_that_does_not(void **state)
{
    (void)state;
    struct cli cli = {.as_json = true};
    struct error err;
    struct address address = {.workflow = 7, .phase = "a"};
    static const struct option_list all = {.count = 0};
    json_t *json = NULL;
    put("runs/7/a/2/run.json", "{}");
    put("runs/7/a/2/journal/n1.jsonl", "{\"seq\":1,\"time\":1.5,\"type\":\"metric\",\"step\":1,"
                                       "\"values\":{\"loss\":5}}\n");
    assert_int_equal(home_init(&cli.home, folder, &err), 0);
    sqlite3 *record = make_record(&cli, held_record);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    (void)snprintf(name.sun_path, sizeof name.sun_path, "%s", cli.home.socket);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0); /* nobody accepts its connections */
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(reader_find_run(&cli, &address, &err), 0);
    assert_int_equal(address.attempt, 2);
    assert_true(cli.reads_files);
    assert_int_equal(reader_has_ended(&cli, &address, &err), 0);
    put("runs/7/a/2/outcome.json", "{}");
    assert_int_equal(reader_has_ended(&cli, &address, &err), 1);
    assert_int_equal(reader_get_metrics(&cli, &address, &all, 0, &json, &err), 0);
    assert_json(json, "{\"steps\":[1],\"times\":[1.5],\"series\":{\"loss\":[5.0]}}");
    assert_int_equal(reader_get_history(&cli, &address, &json, &err), 0);
    assert_int_equal(json_array_size(json_object_get(json, "runs")), 1);
    json_decref(json);
    address.workflow = 8;
    assert_int_equal(reader_get_history(&cli, &address, &json, &err), -EIO);
    assert_non_null(strstr(err.message, "database is locked"));
    (void)sqlite3_close(record); /* nothing is to be kept */
    http_client_free(cli.client);
    assert_int_equal(close(fd), 0);
    home_fini(&cli.home);
}

/* A process that holds the lock of the home, as a daemon on another host does. */
static pid_t hold_lock(const char *path)
{
    int pipes[2];
    char byte = 'x';
    assert_int_equal(pipe(pipes), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0 || fcntl(fd, F_SETLK, &lock) < 0 || write(pipes[1], &byte, 1) != 1)
            _exit(1);
        (void)alarm(120); /* if the test fails */
        while (true)
            (void)pause();
    }
    assert_int_equal(close(pipes[1]), 0);
    assert_int_equal(read(pipes[0], &byte, 1), 1);
    assert_int_equal(close(pipes[0]), 0);
    return pid;
}

static void files_answer_for_a_daemon_of_another_host_that_hangs(void **state)
{
    (void)state;
    struct cli cli = {.as_json = true};
    struct error err;
    struct address address = {.workflow = 7, .phase = "a"};
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof name;
    put("phased.db", "");
    put("runs/7/a/2/run.json", "{}");
    assert_int_equal(home_init(&cli.home, folder, &err), 0);
    int fd = socket(AF_INET, SOCK_STREAM, 0); /* nobody accepts its connections */
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&name, size), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &size), 0);
    char *daemon = text_format("{\"host\": \"127.0.0.1\", \"port\": %u, \"pid\": 7}",
                               (unsigned)ntohs(name.sin_port));
    char key[65] = "";
    memset(key, 'a', sizeof key - 1);
    assert_int_equal(file_replace(cli.home.daemon_file, daemon, strlen(daemon), 0600, NULL), 0);
    assert_int_equal(file_replace(cli.home.key, key, strlen(key), 0600, NULL), 0);
    pid_t pid = hold_lock(cli.home.lock);
    unsigned left = alarm(50); /* a question waits for a minute, and a ping does not */
    assert_int_equal(left, 0);
    assert_int_equal(reader_find_run(&cli, &address, &err), 0);
    (void)alarm(0);
    assert_true(cli.is_silent);
    assert_int_equal(address.attempt, 2);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    http_client_free(cli.client);
    assert_int_equal(close(fd), 0);
    free(daemon);
    home_fini(&cli.home);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_newest_run_is_found_by_its_folder, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(a_run_has_ended_when_its_folder_says_so, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(folders_tell_which_runs_there_are, folder_make,
                                        folder_remove),
        cmocka_unit_test(series_share_one_list_of_steps),
        cmocka_unit_test_setup_teardown(journals_are_readable_after_any_crash, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(metrics_that_no_answer_can_hold_come_in_parts, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(runs_and_metrics_are_read_from_the_record, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(a_run_without_metrics_gives_way_to_the_run_before,
                                        folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(no_question_follows_a_ping_that_failed, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(files_answer_for_a_daemon_that_does_not, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(files_answer_for_a_daemon_of_another_host_that_hangs,
                                        folder_make, folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
