/* Telemetry: seconds of GPUs as JSON, how they are combined, and which GPUs a list names. */
#include "tests/unit/unit.h"

#include "lib/clock.h"
#include "lib/error.h"
#include "lib/metrics/extract.h"
#include "lib/metrics/guards.h"
#include "lib/protocol/journal_file.h"
#include "lib/text.h"
#include "worker/gpu_list.h"
#include "worker/metrics/rows.h"
#include "worker/protocol/journal.h"
#include "worker/telemetry/gpu_metrics.h"
#include "worker/telemetry/news.h"
#include "worker/telemetry/second.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct gpu_second second_of(const char *text)
{
    struct gpu_second second;
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    assert_true(second_from_json(json, &second));
    json_decref(json);
    return second;
}

static void expect_json(const struct gpu_second *second, enum second_form form, const char *text)
{
    json_t *json = second_to_json(second, form);
    char *dump = json_dumps(json, JSON_REAL_PRECISION(15) | JSON_COMPACT);
    assert_string_equal(dump, text);
    free(dump);
    json_decref(json);
}

static void a_value_of_no_gpu_is_left_out_and_a_missing_value_is_null(void **state)
{
    (void)state;
    struct gpu_second second =
        second_of("{\"time\": 5.25, \"gpus\": [2, 3], \"util\": [97.25, null], "
                  "\"power_w\": [650, 649.96], \"tensor_active\": [null, null]}");
    expect_json(&second, SECOND_EXACT,
                "{\"time\":5.25,\"gpus\":[2,3],\"util\":[97.3,null],\"power_w\":[650,650]}");
    expect_json(&second, SECOND_SHORT, "{\"gpus\":[2,3],\"util\":[97,null],\"power_w\":[650,650]}");
    assert_true(isnan(second_mean(&second, GPU_TENSOR_ACTIVE)));
    assert_true(second_mean(&second, GPU_UTIL) == 97.25);
}

static void a_wrong_second_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"{}", "[]", "{\"gpus\": 8}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct gpu_second second;
        json_t *json = json_loads(texts[i], 0, NULL);
        assert_false(second_from_json(json, &second));
        json_decref(json);
    }
}

static void the_kind_of_a_column_says_how_seconds_are_combined(void **state)
{
    (void)state;
    static const char *const seconds[] = {
        "{\"time\": 1, \"gpus\": [0, 1], \"util\": [90, 10], \"memory_mib\": [500, 100], "
        "\"clock_reasons\": [4, 0], \"ecc_corrected\": [0, 7]}",
        "{\"time\": 2, \"gpus\": [0, 1], \"util\": [100, null], \"memory_mib\": [300, 200], "
        "\"clock_reasons\": [32, 0], \"ecc_corrected\": [1, 7]}",
        "{\"time\": 3, \"gpus\": [0, 1], \"util\": [80, 20], \"memory_mib\": [400, 100], "
        "\"clock_reasons\": [4, 1], \"ecc_corrected\": [2, 9]}",
    };
    struct means means = {0};
    struct gpu_second second, mean;
    assert_false(means_take(&means, &mean));
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
        second = second_of(seconds[i]);
        means_add(&means, &second);
    }
    assert_int_equal(means.seconds, 3);
    assert_true(means_take(&means, &mean));
    expect_json(&mean, SECOND_EXACT,
                "{\"time\":3.0,\"gpus\":[0,1],\"util\":[90,15],\"memory_mib\":[500,200],"
                "\"clock_reasons\":[36,1],\"ecc_corrected\":[2,9]}");
    assert_false(means_take(&means, &mean));
}

static void another_gpu_begins_a_new_count(void **state)
{
    (void)state;
    struct means means = {0};
    struct gpu_second second = second_of("{\"time\": 1, \"gpus\": [0], \"util\": [10]}"), mean;
    means_add(&means, &second);
    second = second_of("{\"time\": 2, \"gpus\": [1], \"util\": [70]}");
    means_add(&means, &second);
    assert_int_equal(means.seconds, 1);
    assert_true(means_take(&means, &mean));
    expect_json(&mean, SECOND_SHORT, "{\"gpus\":[1],\"util\":[70]}");
}

/* Eight GPUs for a day, minute by minute, as watch.c has them written. */
static void a_day_of_minutes_of_a_gpu_is_small_in_the_journal(void **state)
{
    (void)state;
    enum { GPUS = 8, MINUTES = 1440, BYTES_MAX = 250000 };
    static const double values[GPU_COLUMN_COUNT] = {97.4, 55.1, 131072, 655.3, 64, 71, 1905, 3201,
                                                    4,    0,    0,      0,     92, 41, 60};
    static const unsigned gpus[GPUS] = {0, 1, 2, 3, 4, 5, 6, 7};
    char folder[] = "/tmp/phased-test-XXXXXX";
    struct gpu_second second;
    struct stat info;
    assert_non_null(mkdtemp(folder));
    char *path = text_format("%s/n1.jsonl", folder);
    struct journal *journal = journal_open(path);
    second_init(&second, gpus, GPUS);
    for (unsigned column = 0; column < GPU_COLUMN_COUNT; column++)
        for (unsigned gpu = 0; gpu < GPUS; gpu++)
            second.values[column][gpu] = values[column];
    for (int minute = 0; minute < MINUTES; minute++) {
        json_t *members = second_to_json(&second, SECOND_SHORT);
        json_object_set_new(members, "from", json_integer(1790000040 + 60 * minute));
        json_object_set_new(members, "seconds", json_integer(60));
        journal_add(journal, &(struct entry){.type = ENTRY_SAMPLE, .json = members});
    }
    journal_close(journal);
    assert_int_equal(stat(path, &info), 0);
    print_message("# a GPU and day of minutes takes %ld bytes of the journal\n",
                  (long)info.st_size / GPUS);
    assert_in_range(info.st_size / GPUS, MINUTES, BYTES_MAX);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
    free(path);
}

/* --- Warnings about the driver ---------------------------------------------------------------- */

static void time_in_which_the_agent_stood_still_is_no_silence(void **state)
{
    (void)state;
    struct news news;
    int64_t now_ms = 5000;
    news_init(&news, now_ms);
    for (int second = 1; second <= 9; second++)
        assert_int_equal(news_silence_ms(&news, now_ms += 1000), 1000 * second);
    assert_int_equal(news_silence_ms(&news, now_ms += 1900), 10900); /* the node is slow */
    news_hear(&news);
    assert_int_equal(news_silence_ms(&news, now_ms += 1000), 1000);
    assert_int_equal(news_silence_ms(&news, now_ms += 36000000), 1000 + NEWS_GAP_MS);
    news_hear(&news);
    assert_int_equal(news_silence_ms(&news, now_ms += 1000), 1000);
}

static void an_xid_of_a_gpu_is_news_once_a_minute(void **state)
{
    (void)state;
    struct news news;
    int64_t now_ms = 5000;
    news_init(&news, now_ms);
    assert_true(news_is_xid(&news, 1, 31, now_ms));
    assert_false(news_is_xid(&news, 1, 31, now_ms));
    assert_true(news_is_xid(&news, 2, 31, now_ms));
    assert_true(news_is_xid(&news, 1, 45, now_ms)); /* it may follow from the first */
    assert_false(news_is_xid(&news, 1, 31, now_ms += NEWS_AGAIN_MS - 1));
    assert_true(news_is_xid(&news, 1, 31, now_ms += 1));
    assert_false(news_is_xid(&news, 1, 31, now_ms += 1));
    for (int number = 100; number < 100 + 2 * NEWS_XIDS_MAX; number++)
        assert_true(news_is_xid(&news, 0, number, ++now_ms));
    assert_false(news_is_xid(&news, 0, 99 + 2 * NEWS_XIDS_MAX, now_ms));
    assert_true(news_is_xid(&news, 0, 100, now_ms)); /* forgotten for newer ones */
}

/* --- Metrics ---------------------------------------------------------------------------------- */

/* A run whose guards use the mean of gpu_util. */
struct world {
    char folder[32];
    char *path;
    json_t *spec;
    struct journal *journal;
    struct guards *guards;
    struct rows rows;
    struct gpu_metrics gpus;
};

static void world_init(struct world *world, const char *guard)
{
    struct error err;
    *world = (struct world){.folder = "/tmp/phased-test-XXXXXX"};
    assert_non_null(mkdtemp(world->folder));
    world->path = text_format("%s/n1.jsonl", world->folder);
    world->journal = journal_open(world->path);
    world->spec = json_pack("{s:{s:{s:s, s:i}}}", "guards", "busy", "value", guard, "at_least", 50);
    assert_int_equal(guards_new(world->spec, 7, &world->guards, &err), 0);
    world->rows = (struct rows){
        .journal = world->journal, .guards = world->guards, .began_ms = clock_steady_ms()};
    world->rows.begin_step = 7;
    world->gpus = (struct gpu_metrics){.rows = &world->rows, .is_told = true};
}

static void world_fini(struct world *world)
{
    rows_fini(&world->rows);
    guards_free(world->guards);
    journal_close(world->journal);
    json_decref(world->spec);
    assert_int_equal(unlink(world->path), 0);
    assert_int_equal(rmdir(world->folder), 0);
    free(world->path);
}

/* So many seconds in which two GPUs have these values; NaN: one GPU has no value. */
static void world_pass_two(struct world *world, unsigned seconds, double util, double other)
{
    const unsigned gpus[] = {0, 1};
    struct gpu_second second;
    second_init(&second, gpus, 2);
    second.values[GPU_UTIL][0] = util;
    second.values[GPU_UTIL][1] = other;
    second.values[GPU_MEMORY][0] = 1000 + util;
    second.values[GPU_MEMORY][1] = 2000;
    for (unsigned i = 0; i < seconds; i++)
        gpu_metrics_add(&world->gpus, &second);
}

static void world_pass(struct world *world, unsigned seconds, double util)
{
    world_pass_two(world, seconds, util, NAN);
}

static void world_step(struct world *world, int64_t step)
{
    const struct extract_value value = {"loss", 1};
    const struct extract_row row = {.has_step = true, .step = step, .values = &value, .count = 1};
    rows_add(&world->rows, &row);
}

static void world_entry(void *context, const struct entry *entry)
{
    char *values = json_dumps(entry->values, JSON_REAL_PRECISION(6));
    text_addf(context, "%d%s %s; ", (int)entry->step, entry->is_stepless ? "?" : "", values);
    free(values);
}

static void expect_metrics(struct world *world, const char *expected)
{
    struct text text = {0};
    rows_flush(&world->rows);
    journal_visit(world->path, ENTRY_METRIC, world_entry, &text);
    assert_string_equal(text_string(&text), expected);
    text_fini(&text);
}

static void a_row_of_the_newest_step_has_the_mean_of_ten_seconds(void **state)
{
    (void)state;
    struct world world;
    world_init(&world, "mean(gpu_util)");
    world_step(&world, 10);
    world_pass(&world, 5, 80);
    world_step(&world, 11);
    world_pass(&world, 5, 90);
    world_step(&world, 12);
    world_pass(&world, 9, 20);
    expect_metrics(
        &world,
        "10 {\"loss\": 1.0}; "
        "11 {\"loss\": 1.0, \"gpu_util\": 85.0, \"gpu_util_min\": 85.0, \"gpu_mem_gb\": 2.1}; "
        "12 {\"loss\": 1.0}; ");
    world_pass(&world, 1, 30);
    expect_metrics(
        &world,
        "10 {\"loss\": 1.0}; "
        "11 {\"loss\": 1.0, \"gpu_util\": 85.0, \"gpu_util_min\": 85.0, \"gpu_mem_gb\": 2.1}; "
        "12 {\"loss\": 1.0}; 12 {\"gpu_util\": 21.0, \"gpu_util_min\": 21.0, \"gpu_mem_gb\": "
        "2.1}; ");
    world_fini(&world);
}

static void without_steps_the_row_has_the_mean_of_all_the_time(void **state)
{
    (void)state;
    struct world world;
    world_init(&world, "mean(gpu_util)");
    world_pass(&world, 10, 90);
    world_pass(&world, 10, 70);
    world_pass(&world, 10, 20);
    expect_metrics(&world,
                   "7? {\"gpu_util\": 90.0, \"gpu_util_min\": 90.0, \"gpu_mem_gb\": 2.1}; "
                   "7? {\"gpu_util\": 80.0, \"gpu_util_min\": 80.0, \"gpu_mem_gb\": 2.1}; "
                   "7? {\"gpu_util\": 60.0, \"gpu_util_min\": 60.0, \"gpu_mem_gb\": 2.1}; ");
    world_fini(&world);
}

/* The program may print the step at which it began. */
static void a_row_with_a_step_is_not_an_entry_without_steps(void **state)
{
    (void)state;
    struct world world;
    world_init(&world, "mean(gpu_util)");
    world_pass(&world, 10, 90);
    world_step(&world, 7);
    world_pass(&world, 10, 70);
    expect_metrics(&world, "7? {\"gpu_util\": 90.0, \"gpu_util_min\": 90.0, \"gpu_mem_gb\": 2.1}; "
                           "7 {\"loss\": 1.0, \"gpu_util\": 80.0, \"gpu_util_min\": 80.0, "
                           "\"gpu_mem_gb\": 2.1}; ");
    world_fini(&world);
}

static void note_nothing(void *context, json_t *verdict)
{
    (void)context;
    (void)verdict;
}

static void guards_judge_every_second_of_a_step(void **state)
{
    (void)state;
    struct world world;
    struct guards_reason reason = {0};
    world_init(&world, "min(gpu_util)");
    world_step(&world, 10);
    world_pass(&world, 3, 90);
    assert_int_equal(guards_judge(world.guards, 3, note_nothing, NULL, &reason), GUARDS_FINE);
    world_pass(&world, 1, 40);
    world_pass(&world, 3, 90);
    assert_int_equal(guards_judge(world.guards, 7, note_nothing, NULL, &reason), GUARDS_FAILED);
    assert_string_equal(reason.message, "guard failed: busy 40 is below 50 (steps 10..10)");
    json_decref(reason.verdict);
    free(reason.message);
    world_fini(&world);
}

/* From second to second another GPU rests. Each is busy for 95 % of the time. */
static void the_least_busy_gpu_is_the_one_with_the_lowest_mean(void **state)
{
    (void)state;
    struct world world;
    struct guards_reason reason = {0};
    world_init(&world, "last(gpu_util_min)");
    world_step(&world, 10);
    for (unsigned i = 0; i < 5; i++) {
        world_pass_two(&world, 1, 100, 90);
        world_pass_two(&world, 1, 90, 100);
    }
    world_step(&world, 11);
    world_pass_two(&world, 10, 100, 60);
    expect_metrics(&world, "10 {\"loss\": 1.0, \"gpu_util\": 95.0, \"gpu_util_min\": 95.0, "
                           "\"gpu_mem_gb\": 2.1}; 11 {\"loss\": 1.0, \"gpu_util\": 80.0, "
                           "\"gpu_util_min\": 60.0, \"gpu_mem_gb\": 2.1}; ");
    assert_int_equal(guards_judge(world.guards, 20, note_nothing, NULL, &reason), GUARDS_FINE);
    /* One GPU stands still. In the mean of both that is 50 %, and no guard at 50 would notice. */
    world_pass_two(&world, 2, 100, 0);
    assert_int_equal(guards_judge(world.guards, 22, note_nothing, NULL, &reason), GUARDS_FAILED);
    assert_string_equal(reason.message, "guard failed: busy 48 is below 50 (steps 10..11)");
    json_decref(reason.verdict);
    free(reason.message);
    world_fini(&world);
}

static void a_list_names_gpus_as_cuda_reads_it(void **state)
{
    (void)state;
    static const char *const uuids[] = {"GPU-a0", "GPU-b1", ""};
    static const struct {
        const char *list, *named; /* the numbers of the named GPUs, of 0 to 2; - for an entry */
    } rows[] = {
        {"", ""},        {"0,1", "01"},     {"2", "2"},     {"1,0", "10"},       {"0,-1,1", "0"},
        {"-1", ""},      {"0, -1,1", "0"},  {"0, 1", "01"}, {"GPU-b1", "1"},     {"GPU-a,2", "02"},
        {"GPU-", "-"},   {"GPU", "-"},      {"GPU-c", "-"}, {"0x1", "-"},        {"1 ", "-"},
        {"0,,1", "0-1"}, {"MIG-a,1", "-1"}, {"+1", "-"},    {"4294967297", "-"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct text named = {0};
        const char *list = rows[i].list;
        char name[GPU_LIST_NAME_SIZE];
        while (gpu_list_next(&list, name)) {
            size_t before = named.size;
            for (unsigned gpu = 0; gpu < 3; gpu++)
                if (gpu_list_names(name, gpu, uuids[gpu]))
                    text_addf(&named, "%u", gpu);
            text_add(&named, named.size > before ? "" : "-");
        }
        if (strcmp(text_string(&named), rows[i].named) != 0)
            fail_msg("\"%s\" names %s", rows[i].list, text_string(&named));
        text_fini(&named);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_of_no_gpu_is_left_out_and_a_missing_value_is_null),
        cmocka_unit_test(a_wrong_second_is_refused),
        cmocka_unit_test(the_kind_of_a_column_says_how_seconds_are_combined),
        cmocka_unit_test(another_gpu_begins_a_new_count),
        cmocka_unit_test(a_day_of_minutes_of_a_gpu_is_small_in_the_journal),
        cmocka_unit_test(time_in_which_the_agent_stood_still_is_no_silence),
        cmocka_unit_test(an_xid_of_a_gpu_is_news_once_a_minute),
        cmocka_unit_test(a_row_of_the_newest_step_has_the_mean_of_ten_seconds),
        cmocka_unit_test(without_steps_the_row_has_the_mean_of_all_the_time),
        cmocka_unit_test(a_row_with_a_step_is_not_an_entry_without_steps),
        cmocka_unit_test(guards_judge_every_second_of_a_step),
        cmocka_unit_test(the_least_busy_gpu_is_the_one_with_the_lowest_mean),
        cmocka_unit_test(a_list_names_gpus_as_cuda_reads_it),
    };
    return cmocka_run_group_tests_name("telemetry", tests, NULL, NULL);
}
