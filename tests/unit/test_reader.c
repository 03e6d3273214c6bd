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

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* On a network file system, the daemon holds the record. */
static void metrics_that_no_answer_can_hold_come_in_parts(void **state)
{
    (void)state;
    static const struct option_list loss = {.items = {"loss"}, .count = 1};
    const struct address run = {.workflow = 7, .phase = "a", .attempt = 2};
    struct cli cli = {.as_json = true};
    struct error err;
    sqlite3 *record;
    json_t *json = NULL;
    assert_int_equal(home_init(&cli.home, folder, &err), 0);
    assert_int_equal(sqlite3_open(cli.home.database, &record), SQLITE_OK);
    assert_int_equal(sqlite3_exec(record, "PRAGMA locking_mode = EXCLUSIVE; CREATE TABLE run (id)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    const struct http_server_options options = {.socket_path = cli.home.socket,
                                                .answer = answer_big_run};
    struct http_server *server = http_server_start(&options);
    big_answers = 0;
    assert_int_equal(reader_get_metrics(&cli, &run, &loss, 0, &json, &err), 0);
    assert_int_equal(big_answers, 1); /* what one answer cannot hold is not asked for again */
    char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(6));
    assert_string_equal(text, "{\"steps\":[100,101,102,103],\"times\":[50.0,50.5,51.0,51.5],"
                              "\"series\":{\"loss\":[100.0,101.0,102.0,\"nan\"]}}");
    free(text);
    json_decref(json);
    assert_int_equal(reader_get_metrics(&cli, &run, &loss, 3, &json, &err), 0);
    assert_int_equal(json_array_size(json_object_get(json, "steps")), 3);
    json_decref(json);
    assert_false(cli.reads_files);
    http_client_free(cli.client);
    http_server_end(server);
    (void)sqlite3_close(record); /* nothing is to be kept */
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
