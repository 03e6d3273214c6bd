/* Metrics in the record: what can be read again, and which rows of several runs a gate reads. */
#include "tests/unit/record.h"

#include "daemon/store/answers.h"
#include "daemon/store/store_private.h"
#include "lib/expr/metrics.h"
#include "lib/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A record with workflow 1 and runs 10, 11, 12 of its first phase. */
struct runs {
    struct record record;
    struct workflow *workflow;
    struct run *runs[3];
};

static void runs_open(struct runs *runs)
{
    record_open(&runs->record);
    runs->workflow = record_workflow(1);
    record_insert(&runs->record, runs->workflow);
    for (unsigned i = 0; i < 3; i++)
        runs->runs[i] = record_add_run(&runs->record, &runs->workflow->phases[0], 10 + i, 20 + i);
}

static void runs_close(struct runs *runs)
{
    workflow_free(runs->workflow);
    record_close(&runs->record);
}

static void add(struct runs *runs, uint64_t run, int64_t step, const char *name, double value,
                int64_t time_ms)
{
    struct error err;
    if (store_metric_add(runs->record.store, run, step, name, value, time_ms, &err) < 0)
        fail_msg("%s", err.message);
}

/* Says when a run ran, and from which step it resumed; step -1: it began at the start. */
static void ran(struct runs *runs, unsigned i, int64_t started_ms, int64_t ended_ms,
                int64_t resume_step)
{
    struct run *run = runs->runs[i];
    run->started_ms = started_ms;
    run->ended_ms = ended_ms;
    run->resume_step = resume_step;
    if (resume_step >= 0)
        run->resume_path = strdup("/out/checkpoint");
    record_save_run(&runs->record, run);
}

static void assert_loaded(struct runs *runs, int64_t now_ms, const char *name, const char *expected,
                          double expected_elapsed_s)
{
    struct metrics *metrics = metrics_new();
    struct error err;
    struct text text = {0};
    struct store_training training;
    assert_int_equal(
        store_metrics_load(runs->record.store, 100, now_ms, NULL, metrics, &training, &err), 0);
    struct metrics_series series = metrics_find(metrics, name);
    for (size_t i = 0; i < series.count; i++)
        text_addf(&text, "%s%lld:%g@%g", i ? " " : "", (long long)series.rows[i].step,
                  series.rows[i].value, series.rows[i].time_s);
    assert_string_equal(text_string(&text), expected);
    assert_true(training.elapsed_s == expected_elapsed_s);
    text_fini(&text);
    metrics_free(metrics);
}

static void any_number_is_restored_exactly(void **state)
{
    (void)state;
    static const double values[] = {0,   1,        -1.5,      5.147944, 1e308, 5e-324,
                                    NAN, INFINITY, -INFINITY, 1e15,     0.1,   -3};
    enum { COUNT = sizeof values / sizeof *values };
    struct runs runs;
    runs_open(&runs);
    record_begin(&runs.record);
    for (int i = 0; i < COUNT; i++)
        add(&runs, 12, i, "m", values[i], 1000);
    record_commit(&runs.record);
    struct metrics *metrics = metrics_new();
    assert_int_equal(store_metrics_load(runs.record.store, 100, 0, NULL, metrics, NULL, NULL), 0);
    struct metrics_series series = metrics_find(metrics, "m");
    assert_int_equal(series.count, COUNT);
    for (int i = 0; i < COUNT; i++) {
        double value = series.rows[i].value;
        assert_true(isnan(values[i]) ? isnan(value) : value == values[i]);
    }
    metrics_free(metrics);
    record_assert(&runs.record, "SELECT value FROM v_metric WHERE step IN (6, 7, 8)",
                  "nan,Inf,-Inf");
    runs_close(&runs);
}

static void the_last_value_of_a_step_counts(void **state)
{
    (void)state;
    struct runs runs;
    runs_open(&runs);
    ran(&runs, 2, 1000, 0, -1);
    record_begin(&runs.record);
    add(&runs, 12, 1, "loss", 5, 2000);
    add(&runs, 12, 1, "loss", 4, 3000);
    add(&runs, 12, 0, "loss", NAN, 1500);
    record_commit(&runs.record);
    assert_loaded(&runs, 11000, "loss", "0:nan@0.5 1:4@2", 10);
    assert_loaded(&runs, 11000, "accuracy", "", 10);
    runs_close(&runs);
}

/* Of the other series, messages need the names: "did you mean". */
static void only_the_series_that_are_wanted_are_read(void **state)
{
    (void)state;
    struct runs runs;
    json_t *wanted = json_pack("{s:b}", "loss", 1);
    struct metrics *metrics = metrics_new();
    runs_open(&runs);
    ran(&runs, 2, 1000, 0, -1);
    record_begin(&runs.record);
    for (int step = 0; step < 9; step++) {
        add(&runs, 12, step, "accuracy", 1, 2000);
        add(&runs, 12, step, "loss", 1, 2000);
    }
    record_commit(&runs.record);
    assert_int_equal(store_metrics_load(runs.record.store, 100, 0, wanted, metrics, NULL, NULL), 0);
    assert_int_equal(metrics_name_count(metrics), 2);
    assert_int_equal(metrics_find(metrics, "loss").count, 9);
    assert_int_equal(metrics_find(metrics, "accuracy").count, 0);
    json_decref(wanted);
    metrics_free(metrics);
    runs_close(&runs);
}

/* The only value was lost, because the next run resumed from an earlier step. */
static void a_wanted_series_without_rows_is_as_if_it_never_came(void **state)
{
    (void)state;
    struct runs runs;
    json_t *wanted = json_pack("{s:b}", "val_loss", 1);
    struct metrics *metrics = metrics_new();
    runs_open(&runs);
    ran(&runs, 1, 1000, 2000, -1);
    ran(&runs, 2, 3000, 4000, 50);
    record_begin(&runs.record);
    add(&runs, 11, 100, "val_loss", 1, 2000);
    record_commit(&runs.record);
    assert_int_equal(store_metrics_load(runs.record.store, 100, 0, wanted, metrics, NULL, NULL), 0);
    assert_int_equal(metrics_name_count(metrics), 0);
    json_decref(wanted);
    metrics_free(metrics);
    runs_close(&runs);
}

/* A run that resumed from no other has told all its steps, and it may have millions of rows. */
static void a_run_without_earlier_runs_is_not_searched_for_missing_steps(void **state)
{
    (void)state;
    struct runs runs;
    char *lack;
    runs_open(&runs);
    ran(&runs, 1, 1000, 2000, -1);
    for (int resumed = 0; resumed < 2; resumed++) {
        ran(&runs, 2, 3000, 4000, resumed ? 5 : -1);
        assert_int_equal(store_metrics_lack(runs.record.store, 100, &lack, NULL), 0);
        sqlite3_stmt *told = store_stmt(runs.record.store, Q_METRIC_TOLD)->sqlite;
        assert_int_equal(sqlite3_stmt_status(told, SQLITE_STMTSTATUS_RUN, 0) > 0, resumed);
    }
    runs_close(&runs);
}

/* Adds a row a second from `begin_ms` on, with the step on top of `base` as the loss. */
static void add_steps(struct runs *runs, uint64_t run, int first, int last, double base,
                      int64_t begin_ms)
{
    for (int step = first; step <= last; step++)
        add(runs, run, step, "loss", base + step, begin_ms + 1000 * (step - first + 1));
}

/* Run 10 came to step 4. Run 11 resumed at 2 and was stopped at 3. Run 12 resumed at 2. */
static void a_resumed_run_continues_at_the_step_of_its_checkpoint(void **state)
{
    (void)state;
    struct runs runs;
    runs_open(&runs);
    ran(&runs, 0, 100000, 104000, -1);
    ran(&runs, 1, 200000, 203000, 2);
    ran(&runs, 2, 300000, 0, 2);
    record_begin(&runs.record);
    add_steps(&runs, 10, 1, 4, 10, 100000);
    add_steps(&runs, 11, 3, 3, 100, 200000);
    add_steps(&runs, 12, 3, 4, 1000, 300000);
    record_commit(&runs.record);
    assert_loaded(&runs, 305000, "loss", "1:11@1 2:12@2 3:1003@8 4:1004@9", 12);
    runs_close(&runs);
}

/* The first run came to step 9, and the second resumed from 7. */
static void a_training_is_at_least_at_the_step_of_its_checkpoint(void **state)
{
    static const struct {
        int64_t resume, last, expected;
    } rows[] = {{7, -1, 7}, {7, 8, 8}, {7, 3, 7}, {-1, -1, -1}, {-1, 2, 2}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct metrics *metrics = metrics_new();
        struct store_training training;
        struct runs runs;
        runs_open(&runs);
        runs.runs[0]->last_step = runs.runs[1]->last_step = 9;
        ran(&runs, 0, 100000, 109000, -1);
        ran(&runs, 1, 110000, 119000, 7);
        runs.runs[2]->last_step = rows[i].last;
        ran(&runs, 2, 200000, 202000, rows[i].resume);
        assert_int_equal(
            store_metrics_load(runs.record.store, 100, 0, NULL, metrics, &training, NULL), 0);
        assert_int_equal(training.step, rows[i].expected);
        metrics_free(metrics);
        runs_close(&runs);
    }
}

/* Run 10 saved at 2 and 4. Run 11 resumed at 2 and died, after a step of its own or without one.
 * Run 12 resumed at 4: what run 11 made led nowhere. */
static void a_run_that_nothing_resumed_from_takes_no_steps_back(void **state)
{
    (void)state;
    for (int steps = 0; steps < 2; steps++) {
        struct runs runs;
        char *lack;
        runs_open(&runs);
        ran(&runs, 0, 100000, 104000, -1);
        ran(&runs, 1, 200000, 203000, 2);
        ran(&runs, 2, 300000, 0, 4);
        record_begin(&runs.record);
        add_steps(&runs, 10, 1, 4, 10, 100000);
        add_steps(&runs, 11, 3, 2 + steps, 100, 200000);
        add_steps(&runs, 12, 5, 6, 1000, 300000);
        assert_int_equal(
            sqlite3_exec(runs.record.store->db,
                         "INSERT INTO checkpoint (run, path, step, time) VALUES (10, '/2', 2, 1),"
                         " (10, '/4', 4, 1);"
                         "UPDATE run SET resume_path = '/' || resume_step WHERE resume_step > 0",
                         NULL, NULL, NULL),
            SQLITE_OK);
        record_commit(&runs.record);
        assert_loaded(&runs, 305000, "loss", "1:11@1 2:12@2 3:13@3 4:14@4 5:1005@5 6:1006@6", 9);
        assert_int_equal(store_metrics_lack(runs.record.store, 100, &lack, NULL), 0);
        assert_null(lack);
        runs_close(&runs);
    }
}

/* The values of runs 10 and 11 are about a model that is gone. */
static void a_run_from_the_start_replaces_earlier_runs(void **state)
{
    (void)state;
    struct runs runs;
    runs_open(&runs);
    ran(&runs, 0, 100000, 104000, -1);
    ran(&runs, 1, 0, 150000, 3); /* lost while it was queued */
    record_begin(&runs.record);
    add(&runs, 10, 1, "loss", 1, 101000);
    add(&runs, 10, 9, "loss", 9, 102000);
    record_commit(&runs.record);
    ran(&runs, 2, 0, 0, 3);
    assert_loaded(&runs, 305000, "loss", "1:1@1", 4);
    record_begin(&runs.record);
    add(&runs, 12, 1, "loss", 2, 302000); /* before the report of its start */
    record_commit(&runs.record);
    assert_loaded(&runs, 305000, "loss", "1:2@4", 7);
    free(runs.runs[2]->resume_path);
    runs.runs[2]->resume_path = NULL;
    ran(&runs, 2, 300000, 304000, -1);
    assert_loaded(&runs, 305000, "loss", "1:2@2", 4);
    runs_close(&runs);
}

/* Run 10 lost entries after the steps up to `told`, and reported 9 after that. Run 11 resumed at
 * `resume`. */
static void steps_that_a_later_run_repeated_are_not_missing(void **state)
{
    static const struct {
        const char *claim;
        int told, resume;
        bool is_lacking;
    } rows[] = {
        {"steps that no run has repeated", 4, 9, true},
        {"steps that the next run has repeated", 4, 2, false},
        {"the step at which it resumed", 2, 2, true},
        {"steps before that", 1, 2, true},
        {"all from the start", 0, 2, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct runs runs;
        char *lack;
        runs_open(&runs);
        ran(&runs, 0, 100000, 104000, -1);
        for (unsigned later = 1; later < 3; later++)
            ran(&runs, later, 0, 0, rows[i].resume);
        record_begin(&runs.record);
        for (int step = 1; step <= rows[i].told; step++)
            add(&runs, 10, step, "loss", 1, 100000);
        assert_int_equal(store_journal_gap_add(runs.record.store, 10, "n1", 8, 9, NULL), 0);
        add(&runs, 10, 9, "loss", 1, 103000);
        record_commit(&runs.record);
        assert_int_equal(store_metrics_lack(runs.record.store, 100, &lack, NULL), 0);
        if ((lack != NULL) != rows[i].is_lacking)
            fail_msg("%s: lacks %s", rows[i].claim, lack ? lack : "nothing");
        if (lack)
            assert_string_equal(lack, "the journal of n1 lacks entries 8 to 9 of run #1");
        free(lack);
        runs_close(&runs);
    }
}

/* A run of a lineage: the rows that it reported, the checkpoint that it saved, and where it began.
 * Without rows the interval is 0. */
struct told {
    int first, last, interval, saved, resume;
};

static void told_add(struct runs *runs, unsigned i, const struct told *told)
{
    ran(runs, i, 100000 + 10000 * i, 104000 + 10000 * i, told->resume);
    record_begin(&runs->record);
    for (int step = told->first; told->interval && step <= told->last; step += told->interval)
        add(runs, 10 + i, step, "loss", 1, 100000);
    char *sql = text_format("INSERT INTO checkpoint (run, path, step, time) "
                            "VALUES (%u, '/step', %d, 1)",
                            10 + i, told->saved);
    assert_int_equal(sqlite3_exec(runs->record.store->db, sql, NULL, NULL, NULL), SQLITE_OK);
    free(sql);
    record_commit(&runs->record);
}

/* If an agent is killed, the output that it has not read is lost, and its program may have saved
 * since. */
static void steps_of_a_checkpoint_without_metrics_are_missing(void **state)
{
    static const struct {
        const char *claim;
        struct told runs[3];
        const char *lack;
    } rows[] = {
        {"nearly half of the steps",
         {{1, 46, 1, 40, -1}, {.resume = 90}, {91, 95, 1, 95, 90}},
         "run #1 told nothing of steps 47 to 90"},
        {"a run that had resumed",
         {{41, 46, 1, 45, 40}, {.resume = 60}, {61, 65, 1, 65, 60}},
         "run #1 told nothing of steps 47 to 60"},
        {"a few of many steps", {{1, 86, 1, 80, -1}, {.resume = 90}, {91, 95, 1, 95, 90}}, NULL},
        {"no more than lies between two rows",
         {{20, 40, 20, 30, -1}, {.resume = 60}, {80, 100, 20, 90, 60}},
         NULL},
        {"more than lies between two rows",
         {{20, 40, 20, 30, -1}, {.resume = 70}, {80, 100, 20, 90, 70}},
         "run #1 told nothing of steps 41 to 70"},
        {"checkpoints that are counted in samples",
         {{1, 46, 1, 4600, -1}, {.resume = 9000}, {47, 95, 1, 9500, 9000}},
         NULL},
        {"checkpoints that are counted in epochs",
         {{100, 4600, 10, 1, -1}, {.resume = 2}, {4610, 5000, 10, 3, 2}},
         NULL},
        {"one row each, whose interval nobody knows",
         {{40, 40, 1, 40, -1}, {.resume = 90}, {95, 95, 1, 95, 90}},
         NULL},
        {"a run that told nothing at all",
         {{.saved = 30, .resume = -1}, {.resume = 30}, {31, 45, 1, 40, 30}},
         "run #1 told nothing of steps 1 to 30"},
        {"one that told nothing and had begun from another phase's",
         {{.saved = 1030, .resume = 1000}, {.resume = 1030}, {1031, 1045, 1, 1040, 1030}},
         "run #1 told nothing of steps 1001 to 1030"},
        {"one that told nothing after one that told all",
         {{1, 30, 1, 30, -1}, {.saved = 60, .resume = 30}, {61, 90, 1, 90, 60}},
         "run #2 told nothing of steps 31 to 60"},
        {"rows that end before the first checkpoint",
         {{1, 9, 1, 30, -1}, {.resume = 30}, {31, 45, 1, 40, 30}},
         "run #1 told nothing of steps 10 to 30"},
        {"a single row",
         {{1, 1, 1, 30, -1}, {.resume = 30}, {31, 45, 1, 40, 30}},
         "run #1 told nothing of steps 2 to 30"},
        {"a training that tells nothing in its first steps",
         {{.saved = 400, .resume = -1}, {.resume = 400}, {1000, 1100, 10, 1050, 400}},
         NULL},
        {"a training that tells less often than it is preempted",
         {{.saved = 40, .resume = -1}, {.saved = 80, .resume = 40}, {100, 300, 100, 200, 80}},
         NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct runs runs;
        char *lack;
        runs_open(&runs);
        for (unsigned run = 0; run < 3; run++)
            told_add(&runs, run, &rows[i].runs[run]);
        assert_int_equal(store_metrics_lack(runs.record.store, 100, &lack, NULL), 0);
        if ((lack != NULL) != (rows[i].lack != NULL) || (lack && !text_equal(lack, rows[i].lack)))
            fail_msg("%s: lacks %s", rows[i].claim, lack ? lack : "nothing");
        free(lack);
        runs_close(&runs);
    }
}

static void more_names_than_the_cache_holds_do_no_harm(void **state)
{
    (void)state;
    enum { NAMES = 5000 };
    struct runs runs;
    runs_open(&runs);
    record_begin(&runs.record);
    for (int i = 0; i < 2 * NAMES; i++) {
        char *name = text_format("name_%d", i % NAMES);
        add(&runs, 12, i / NAMES, name, i, 1000);
        free(name);
    }
    record_commit(&runs.record);
    record_assert(&runs.record, "SELECT count(*) || ' ' || max(id) FROM metric_name", "5000 5000");
    record_assert(&runs.record, "SELECT step || ':' || value FROM v_metric WHERE name = 'name_7'",
                  "0:7.0,1:5007.0");
    runs_close(&runs);
}

static void one_transaction_can_have_a_hundred_thousand_rows(void **state)
{
    (void)state;
    struct runs runs;
    runs_open(&runs);
    record_begin(&runs.record);
    for (int i = 0; i < 100000; i++)
        add(&runs, 12, i / 4,
            i % 4 == 0   ? "loss"
            : i % 4 == 1 ? "dt"
            : i % 4 == 2 ? "lr"
                         : "mfu",
            i, 1000);
    record_commit(&runs.record);
    record_assert(&runs.record,
                  "SELECT count(*) || ' ' || max(step) || ' ' || total(value) FROM metric",
                  "100000 24999 4999950000.0");
    runs_close(&runs);
}

static void a_metric_without_a_run_refuses_its_transaction(void **state)
{
    (void)state;
    struct runs runs;
    struct error err;
    runs_open(&runs);
    record_begin(&runs.record);
    add(&runs, 12, 1, "loss", 1, 1000);
    add(&runs, 99, 1, "loss", 1, 1000);
    assert_int_equal(store_commit(runs.record.store, &err), -EINVAL);
    assert_non_null(strstr(err.message, "FOREIGN KEY"));
    record_assert(&runs.record, "SELECT count(*) FROM metric", "0");
    runs_close(&runs);
}

static void a_phase_has_an_eta_when_its_run_has_a_pace(void **state)
{
    (void)state;
    const struct store_pace pace = {.step = 300, .steps = 90, .seconds = 36, .time_ms = 1};
    struct runs runs;
    json_t *json;
    runs_open(&runs);
    struct run *run = runs.runs[2];
    run->state = RUN_RUNNING;
    run->last_step = 300;
    run->started_ms = record_now_ms() - 20000;
    record_save_run(&runs.record, run);
    for (int has_pace = 0; has_pace < 2; has_pace++) {
        record_begin(&runs.record);
        if (has_pace)
            assert_int_equal(store_pace_put(runs.record.store, 12, "n1", &pace, NULL), 0);
        record_commit(&runs.record);
        assert_int_equal(answer_phase(runs.record.store, 1, "validate", &json, NULL), 0);
        const json_t *eta_s = json_object_get(json, "eta_s");
        assert_int_equal(json_is_real(eta_s), has_pace);
        assert_float_equal(json_number_value(eta_s), has_pace ? (1000 - 300) * 0.4 : 0, 1e-9);
        json_decref(json);
    }
    runs_close(&runs);
}

/* The program resumes by itself, even though phased lets it begin from the start. */
static void steps_count_from_the_first_step_of_the_run(void **state)
{
    (void)state;
    struct runs runs;
    json_t *json;
    runs_open(&runs);
    struct run *run = runs.runs[0];
    run->state = RUN_ENDED;
    run->outcome = OUTCOME_CANCELLED;
    run->wish = WISH_HOLD;
    run->last_step = 500;
    record_save_run(&runs.record, run);
    record_begin(&runs.record);
    add(&runs, 10, 210, "began", 1, 1000); /* one row alone says nothing about the distance */
    for (int64_t step = 210; step <= 500; step += 10)
        add(&runs, 10, step, "loss", 1, 1000);
    record_commit(&runs.record);
    assert_int_equal(answer_run(runs.record.store, 1, "validate", 1, &json, NULL), 0);
    assert_int_equal(json_integer_value(json_object_get(json, "first_step")), 200);
    assert_string_equal(json_string_value(json_object_get(json, "outcome")), "held");
    json_decref(json);
    runs_close(&runs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_series_that_are_wanted_are_read),
        cmocka_unit_test(a_wanted_series_without_rows_is_as_if_it_never_came),
        cmocka_unit_test(a_run_without_earlier_runs_is_not_searched_for_missing_steps),
        cmocka_unit_test(a_training_is_at_least_at_the_step_of_its_checkpoint),
        cmocka_unit_test(any_number_is_restored_exactly),
        cmocka_unit_test(the_last_value_of_a_step_counts),
        cmocka_unit_test(a_resumed_run_continues_at_the_step_of_its_checkpoint),
        cmocka_unit_test(a_run_from_the_start_replaces_earlier_runs),
        cmocka_unit_test(a_run_that_nothing_resumed_from_takes_no_steps_back),
        cmocka_unit_test(steps_that_a_later_run_repeated_are_not_missing),
        cmocka_unit_test(steps_of_a_checkpoint_without_metrics_are_missing),
        cmocka_unit_test(more_names_than_the_cache_holds_do_no_harm),
        cmocka_unit_test(one_transaction_can_have_a_hundred_thousand_rows),
        cmocka_unit_test(a_phase_has_an_eta_when_its_run_has_a_pace),
        cmocka_unit_test(steps_count_from_the_first_step_of_the_run),
        cmocka_unit_test(a_metric_without_a_run_refuses_its_transaction),
    };
    return cmocka_run_group_tests_name("record metrics", tests, NULL, NULL);
}
