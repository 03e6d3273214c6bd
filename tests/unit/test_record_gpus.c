/* GPUs in the record: what they are, what they did, and how old samples become coarser. */
#include "tests/unit/record.h"

#include "daemon/store/answers.h"
#include "lib/gpu_columns.h"
#include "lib/text.h"

#include <errno.h>
#include <stdlib.h>

enum { DAY_S = 86400, HOUR_S = 3600, EARLY_S = 1790000040 }; /* a whole minute */

static struct workflow *begin_run(struct record *record)
{
    record_open(record);
    struct workflow *workflow = record_workflow(7);
    record_insert(record, workflow);
    (void)record_add_run(record, &workflow->phases[0], 1, 1);
    return workflow;
}

static void put_gpus(struct record *record)
{
    struct error err;
    json_t *devices = json_loads("{\"gpus\": [0, 3], \"models\": [\"NVIDIA H200\", null], "
                                 "\"uuids\": [\"GPU-1\", null], \"memory_mib\": [143771, null]}",
                                 0, NULL);
    record_begin(record);
    assert_int_equal(store_gpus_put(record->store, 1, "n1", devices, &err), 0);
    record_commit(record);
    json_decref(devices);
}

static int put_text(struct record *record, const char *text)
{
    struct error err;
    json_t *sample = json_loads(text, 0, NULL);
    assert_non_null(sample);
    int result = store_samples_put(record->store, 1, "n1", sample, &err);
    json_decref(sample);
    return result;
}

static void put_sample(struct record *record, int64_t from_s, int seconds, int util)
{
    char *text = text_format("{\"from\": %lld, \"seconds\": %d, \"gpus\": [0, 3], \"util\": "
                             "[%d, 0], \"memory_mib\": [%d, 9], \"clock_reasons\": [%d, 0]}",
                             (long long)from_s, seconds, util, 1000 + util, util % 2 ? 4 : 32);
    assert_int_equal(put_text(record, text), 0);
    free(text);
}

static void the_record_has_the_sampled_columns(void **state)
{
    (void)state;
    struct record record;
    workflow_free(begin_run(&record));
    record_assert(&record,
                  "SELECT group_concat(name, ' ') FROM pragma_table_info('sample') "
                  " WHERE name NOT IN ('gpu', 'seconds', 'time')",
                  "util memory_util memory_mib power_w temperature_c memory_temperature_c "
                  "sm_clock_mhz memory_clock_mhz clock_reasons ecc_corrected ecc_uncorrected xid "
                  "sm_active tensor_active dram_active");
    static const char *const names[] = {
#define X(symbol, name, kind, dcgm, what) #name,
        GPU_COLUMNS(X)
#undef X
    };
    struct text list = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        text_addf(&list, "%s%s", i ? " " : "", names[i]);
    record_assert(&record,
                  "SELECT group_concat(name, ' ') FROM pragma_table_info('sample') "
                  " WHERE name NOT IN ('gpu', 'seconds', 'time')",
                  text_string(&list));
    text_fini(&list);
    record_close(&record);
}

static void an_answer_has_the_newest_values_of_a_gpu_and_null_for_unknown_ones(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    json_t *json;
    workflow_free(begin_run(&record));
    put_gpus(&record);
    record_begin(&record);
    put_sample(&record, EARLY_S, 60, 90);
    put_sample(&record, EARLY_S + 60, 10, 70);
    put_sample(&record, EARLY_S + 65, 1, 5); /* the last seconds of a failed run */
    assert_int_equal(put_text(&record, "{\"from\": 1790000040, \"seconds\": 7, \"gpus\": [0]}"),
                     -EINVAL);
    record_commit(&record);
    assert_int_equal(answer_gpus(record.store, 1, &json, &err), 0);
    const json_t *gpus = json_object_get(json, "gpus"), *gpu = json_array_get(gpus, 0);
    assert_int_equal(json_array_size(gpus), 2);
    assert_string_equal(json_string_value(json_object_get(gpu, "model")), "NVIDIA H200");
    assert_int_equal(json_integer_value(json_object_get(gpu, "util")), 70);
    assert_int_equal(json_integer_value(json_object_get(gpu, "seconds")), 10);
    assert_true(json_is_null(json_object_get(gpu, "power_w")));
    gpu = json_array_get(gpus, 1);
    assert_int_equal(json_integer_value(json_object_get(gpu, "gpu")), 3);
    assert_true(json_is_null(json_object_get(gpu, "model")));
    json_decref(json);
    record_assert(&record, "SELECT address, node, number, util FROM v_sample WHERE seconds = 60",
                  "7/validate#1,7/validate#1");
    record_close(&record);
}

static void runs_with_an_allocation_are_answered_together(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    json_t *json;
    record_open(&record);
    struct workflow *workflow = record_workflow(7);
    record_insert(&record, workflow);
    struct run *run = record_add_run(&record, &workflow->phases[0], 1, 1);
    put_gpus(&record);
    assert_int_equal(answer_at_work(record.store, &json, &err), 0);
    assert_int_equal(json_array_size(json_object_get(json, "runs")), 0); /* the run waits */
    json_decref(json);
    run->state = RUN_RUNNING;
    record_save_run(&record, run);
    assert_int_equal(answer_at_work(record.store, &json, &err), 0);
    const json_t *runs = json_object_get(json, "runs"), *first = json_array_get(runs, 0);
    assert_int_equal(json_array_size(runs), 1);
    assert_string_equal(json_string_value(json_object_get(first, "address")), "7/validate#1");
    assert_int_equal(json_array_size(json_object_get(first, "gpus")), 2);
    assert_int_equal(json_array_size(json_object_get(first, "paces")), 0);
    assert_true(json_is_object(json_object_get(first, "metrics")));
    json_decref(json);
    workflow_free(workflow);
    record_close(&record);
}

static void after_a_day_ten_seconds_become_minutes_and_seconds_are_deleted(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    workflow_free(begin_run(&record));
    put_gpus(&record);
    record_begin(&record);
    for (int i = 0; i < 12; i++)
        put_sample(&record, EARLY_S + 10 * i, 10, i < 6 ? 90 + i : 20);
    put_sample(&record, EARLY_S + 60, 60, 33); /* the agent's own mean */
    put_sample(&record, EARLY_S + 119, 1, 1);
    put_sample(&record, EARLY_S + HOUR_S, 10, 50);
    record_commit(&record);
    /* This is not a second too early. */
    record_begin(&record);
    assert_int_equal(store_samples_age(record.store, 1000LL * (EARLY_S + DAY_S - 1), &err), 0);
    record_commit(&record);
    record_assert(&record, "SELECT count(*) FROM sample WHERE seconds = 10", "26");
    record_begin(&record);
    assert_int_equal(store_samples_age(record.store, 1000LL * (EARLY_S + DAY_S + 180), &err), 0);
    record_commit(&record);
    record_assert(&record, "SELECT count(*) FROM sample WHERE seconds < 60", "2");
    record_assert(&record,
                  "SELECT util || ' ' || memory_mib || ' ' || clock_reasons FROM v_sample "
                  " WHERE number = 0 AND seconds = 60 ORDER BY time",
                  "93 1095 36,33 1033 4");
    record_close(&record);
}

static void idle_time_counts_only_the_seconds_that_were_seen(void **state)
{
    (void)state;
    static const struct {
        const char *members, *counted;
    } rows[] = {
        {"\"seconds\": 10, \"sampled\": 3", "3 3"},
        {"\"seconds\": 60, \"sampled\": 12", "12 12"},
        {"\"seconds\": 10", "10 10"},
        {"\"seconds\": 10, \"sampled\": null", "10 10"},
        {"\"seconds\": 10, \"sampled\": -1", "10 10"},
        {"\"seconds\": 10, \"sampled\": 11", "11 11"},
        {"\"seconds\": 10, \"sampled\": 20", "20 20"},
        {"\"seconds\": 10, \"sampled\": 21", "10 10"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct record record;
        workflow_free(begin_run(&record));
        put_gpus(&record);
        record_begin(&record);
        char *text = text_format("{\"from\": 1790000040, %s, \"gpus\": [0], \"util\": [4]}",
                                 rows[i].members);
        assert_int_equal(put_text(&record, text), 0);
        record_commit(&record);
        record_assert(&record, "SELECT sampled || ' ' || idle FROM gpu WHERE number = 0",
                      rows[i].counted);
        free(text);
        record_close(&record);
    }
}

static void idle_time_is_a_share_of_all_time_and_not_of_single_seconds(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    workflow_free(begin_run(&record));
    put_gpus(&record); /* in put_sample(), the second call does nothing */
    record_begin(&record);
    put_sample(&record, EARLY_S, 10, 90);
    put_sample(&record, EARLY_S + 10, 10, 4);
    put_sample(&record, EARLY_S + 60, 60, 5);
    put_sample(&record, EARLY_S + 119, 1, 0);
    assert_int_equal(put_text(&record, "{\"from\": 1790000160, \"seconds\": 60, \"gpus\": [0, 3], "
                                       "\"util\": [null, 0]}"),
                     0);
    record_commit(&record);
    record_assert(&record, "SELECT sampled || ' ' || idle FROM gpu ORDER BY number",
                  "80 10,140 140");
    record_assert(&record, "SELECT idle_percent FROM v_gpu ORDER BY number", "12.5,100.0");
    record_begin(&record);
    assert_int_equal(store_samples_age(record.store, 1000LL * (EARLY_S + 2 * DAY_S), &err), 0);
    record_commit(&record);
    record_assert(&record, "SELECT sampled || ' ' || idle FROM gpu ORDER BY number",
                  "80 10,140 140");
    record_close(&record);
}

static void a_node_has_a_pace_of_its_newest_minute_and_of_all_time(void **state)
{
    (void)state;
    static const struct {
        const char *node;
        struct store_pace pace;
        int result;
    } rows[] = {
        {"n2", {.step = 20, .steps = 20, .seconds = 10}, 0},
        {"n1", {.step = 18, .steps = 10, .seconds = 10}, 0},
        {"n1", {.step = 78, .steps = 40, .seconds = 60}, 0},
        {"n1", {.step = 78, .steps = 0, .seconds = 60}, -EINVAL},
        {"n1", {.step = 78, .steps = 3}, -EINVAL},
    };
    struct record record;
    struct error err;
    json_t *json;
    workflow_free(begin_run(&record));
    record_begin(&record);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct store_pace pace = rows[i].pace;
        pace.time_ms = 1000 * (int64_t)i;
        assert_int_equal(store_pace_put(record.store, 1, rows[i].node, &pace, &err),
                         rows[i].result);
    }
    record_commit(&record);
    record_assert(&record, "SELECT address || ' ' || node || ' ' || mean_step_seconds FROM v_pace",
                  "7/validate#1 n1 1.4,7/validate#1 n2 0.5");
    assert_int_equal(answer_gpus(record.store, 1, &json, &err), 0);
    char *paces = json_dumps(json_object_get(json, "paces"), JSON_REAL_PRECISION(6));
    assert_string_equal(paces, "[{\"node\": \"n1\", \"step\": 78, \"step_seconds\": 1.5, "
                               "\"mean_step_seconds\": 1.4, \"time\": 2.0}, "
                               "{\"node\": \"n2\", \"step\": 20, \"step_seconds\": 0.5, "
                               "\"mean_step_seconds\": 0.5, \"time\": 0.0}]");
    free(paces);
    json_decref(json);
    record_close(&record);
}

static void the_last_step_of_a_run_is_as_old_as_its_end(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    json_t *json;
    struct workflow *workflow = begin_run(&record);
    struct run *run = workflow->phases[0].run;
    const struct store_pace pace = {.step = 78, .steps = 40, .seconds = 60, .time_ms = 2000};
    record_begin(&record);
    assert_int_equal(store_pace_put(record.store, 1, "n1", &pace, &err), 0);
    record_commit(&record);
    run->state = RUN_ENDED;
    run->last_step = 90;
    run->ended_ms = 9000;
    record_save_run(&record, run);
    assert_int_equal(answer_gpus(record.store, 1, &json, &err), 0);
    const json_t *row = json_array_get(json_object_get(json, "paces"), 0);
    assert_int_equal(json_integer_value(json_object_get(row, "step")), 90);
    assert_float_equal(json_number_value(json_object_get(row, "time")), 9, 0);
    json_decref(json);
    workflow_free(workflow);
    record_close(&record);
}

/* Eight GPUs for so many days, minute by minute, as in a long run. */
static void a_day_of_minutes_of_a_gpu_is_small(void **state)
{
    (void)state;
    enum { GPUS = 8, BYTES_MAX = 150000 };
    struct record record;
    struct error err;
    workflow_free(begin_run(&record));
    json_t *numbers = json_array();
    for (int gpu = 0; gpu < GPUS; gpu++)
        json_array_append_new(numbers, json_integer(gpu));
    json_t *devices = json_pack("{s:O}", "gpus", numbers);
    record_begin(&record);
    assert_int_equal(store_gpus_put(record.store, 1, "n1", devices, &err), 0);
    record_commit(&record);
    record_reopen(&record);
    char *before = record_ask(&record, "SELECT page_count * page_size FROM pragma_page_count, "
                                       "pragma_page_size");
    record_begin(&record);
    for (int minute = 0; minute < DAY_S / 60; minute++) {
        json_t *sample = json_pack("{s:I, s:i, s:O}", "from", (json_int_t)EARLY_S + 60LL * minute,
                                   "seconds", 60, "gpus", numbers);
        static const int values[GPU_COLUMN_COUNT] = {97, 55, 131072, 655, 64, 71, 1905, 3201,
                                                     4,  0,  0,      0,   92, 41, 60};
        static const char *const names[] = {
#define X(symbol, name, kind, dcgm, what) #name,
            GPU_COLUMNS(X)
#undef X
        };
        for (int column = 0; column < GPU_COLUMN_COUNT; column++) {
            json_t *list = json_array();
            for (int gpu = 0; gpu < GPUS; gpu++)
                json_array_append_new(list, json_integer(values[column]));
            json_object_set_new(sample, names[column], list);
        }
        assert_int_equal(store_samples_put(record.store, 1, "n1", sample, &err), 0);
        json_decref(sample);
    }
    record_commit(&record);
    record_reopen(&record);
    char *after = record_ask(&record, "SELECT page_count * page_size FROM pragma_page_count, "
                                      "pragma_page_size");
    long bytes = (strtol(after, NULL, 10) - strtol(before, NULL, 10)) / GPUS;
    print_message("# a GPU and day of minutes takes %ld bytes of the record\n", bytes);
    assert_in_range(bytes, 1440, BYTES_MAX);
    free(before);
    free(after);
    json_decref(devices);
    json_decref(numbers);
    record_close(&record);
}

static void the_history_of_gpus_has_parts_of_equal_length(void **state)
{
    (void)state;
    static const struct {
        unsigned parts;
        int seconds[2]; /* of the samples of the first and the second hundred seconds */
        const char *expected;
    } rows[] = {
        {100,
         {10, 10},
         "[[10.0,20.0,30.0,40.0,50.0,60.0,null,null,null,null,80.0,70.0],"
         "[0.0,0.0,0.0,0.0,0.0,0.0,null,null,null,null,0.0,0.0]]"},
        {2, {10, 10}, "[[35.0,80.0],[0.0,0.0]]"},
        {3, {10, 10}, "[[25.0,55.0,75.0],[0.0,0.0,0.0]]"},
        {100, {10, 60}, "[[35.0,80.0,70.0],[0.0,0.0,0.0]]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct record record;
        struct error err;
        json_t *json;
        workflow_free(begin_run(&record));
        put_gpus(&record);
        assert_int_equal(answer_gpu_history(record.store, 1, 5, &json, &err), 0);
        json_decref(json);
        record_begin(&record);
        for (int at = 0; at < 6; at++)
            put_sample(&record, 1790000000 + 10 * at, rows[i].seconds[0], 10 + 10 * at);
        put_sample(&record, 1790000100, rows[i].seconds[1], 80);
        put_sample(&record, 1790000100 + rows[i].seconds[1], rows[i].seconds[1], 70);
        record_commit(&record);
        assert_int_equal(answer_gpu_history(record.store, 1, rows[i].parts, &json, &err), 0);
        assert_true(json_real_value(json_object_get(json, "first")) == 1790000000.0);
        const json_t *gpus = json_object_get(json, "gpus"), *gpu;
        size_t at;
        json_t *values = json_array();
        json_array_foreach(gpus, at, gpu) json_array_append(values, json_object_get(gpu, "util"));
        char *text = json_dumps(values, JSON_COMPACT);
        assert_string_equal(text, rows[i].expected);
        free(text);
        json_decref(values);
        json_decref(json);
        record_close(&record);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_record_has_the_sampled_columns),
        cmocka_unit_test(an_answer_has_the_newest_values_of_a_gpu_and_null_for_unknown_ones),
        cmocka_unit_test(runs_with_an_allocation_are_answered_together),
        cmocka_unit_test(after_a_day_ten_seconds_become_minutes_and_seconds_are_deleted),
        cmocka_unit_test(idle_time_counts_only_the_seconds_that_were_seen),
        cmocka_unit_test(idle_time_is_a_share_of_all_time_and_not_of_single_seconds),
        cmocka_unit_test(a_node_has_a_pace_of_its_newest_minute_and_of_all_time),
        cmocka_unit_test(the_last_step_of_a_run_is_as_old_as_its_end),
        cmocka_unit_test(a_day_of_minutes_of_a_gpu_is_small),
        cmocka_unit_test(the_history_of_gpus_has_parts_of_equal_length),
    };
    return cmocka_run_group_tests_name("gpus of the record", tests, NULL, NULL);
}
