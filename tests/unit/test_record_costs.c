/* Costs in the record: what each paid hour was used for, what was expected, and the forecast. */
#include "tests/unit/record.h"

#include "daemon/store/answers.h"
#include "daemon/store/cost.h"
#include "daemon/store/store_private.h"
#include "lib/text.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOUR_MS = 3600 * 1000, RUNS_MAX = 4 };

/* An attempt at the first phase. It takes an hour, from one step to another. */
struct attempt {
    enum run_outcome outcome;
    int64_t resumes_at;  /* the step of a checkpoint; 0: it begins from the start */
    int64_t last, saved; /* steps; 0: it has saved no checkpoint */
};

static void add_attempt(struct record *record, struct phase *phase, unsigned number,
                        const struct attempt *attempt)
{
    struct run *run = record_add_run(record, phase, 10 + number, 20 + number);
    struct error err;
    run->state = RUN_ENDED;
    run->outcome = attempt->outcome;
    run->started_ms = run->seat->allocation->started_ms =
        1790000000000 + 2 * number * (int64_t)HOUR_MS;
    run->ended_ms = run->seat->allocation->ended_ms = run->started_ms + HOUR_MS;
    run->seat->allocation->ended = true;
    run->last_step = attempt->last;
    if (attempt->resumes_at) {
        run->resume_path = text_format("/out/%lld", (long long)attempt->resumes_at);
        run->resume_step = attempt->resumes_at;
    }
    record_save_run(record, run);
    char *path = text_format("/out/%lld", (long long)attempt->saved);
    const struct store_checkpoint checkpoint = {
        .run = run->id, .path = path, .step = attempt->saved, .bytes = -1};
    record_begin(record);
    if (attempt->saved && store_checkpoint_add(record->store, &checkpoint, &err) < 0)
        fail_msg("%s", err.message);
    record_commit(record);
    free(path);
}

static const struct {
    const char *name;
    struct attempt attempts[RUNS_MAX]; /* ends with an attempt without a last step */
    const char *minutes;               /* of each run, by their use */
} useful_rows[] = {
    {"what the next run goes on from is useful",
     {{OUTCOME_PREEMPTED, 0, 100, 75}, {OUTCOME_SUCCEEDED, 75, 200, 200}},
     "1 preempted 15,1 useful 45,2 useful 60"},
    {"what may be gone on from is useful",
     {{OUTCOME_FAILED, 0, 100, 75}},
     "1 failed 15,1 useful 45"},
    {"a checkpoint that nothing goes on from is of no use",
     {{OUTCOME_FAILED, 0, 100, 75}, {OUTCOME_SUCCEEDED, 0, 200, 200}},
     "1 failed 60,2 useful 60"},
    {"a beginning anew makes all runs before it useless",
     {{OUTCOME_PREEMPTED, 0, 100, 100},
      {OUTCOME_FAILED, 100, 200, 200},
      {OUTCOME_SUCCEEDED, 0, 200, 200}},
     "1 preempted 60,2 failed 60,3 useful 60"},
    {"a return to an earlier checkpoint takes the steps after it back",
     {{OUTCOME_PREEMPTED, 0, 100, 100},
      {OUTCOME_FAILED, 100, 200, 200},
      {OUTCOME_SUCCEEDED, 100, 200, 200}},
     "1 useful 60,2 failed 60,3 useful 60"},
    {"what succeeded and was begun anew was repeated",
     {{OUTCOME_SUCCEEDED, 0, 100, 100}, {OUTCOME_SUCCEEDED, 0, 100, 100}},
     "1 repeated 60,2 useful 60"},
    {"what succeeded and was gone on from is useful",
     {{OUTCOME_SUCCEEDED, 0, 100, 100}, {OUTCOME_SUCCEEDED, 100, 200, 200}},
     "1 useful 60,2 useful 60"},
};

static void steps_are_useful_if_a_run_resumed_from_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof useful_rows / sizeof *useful_rows; i++) {
        struct record record;
        record_open(&record);
        struct workflow *workflow = record_workflow(1);
        record_insert(&record, workflow);
        for (unsigned j = 0; j < RUNS_MAX && useful_rows[i].attempts[j].last; j++)
            add_attempt(&record, &workflow->phases[0], j, &useful_rows[i].attempts[j]);
        char *minutes = record_ask(&record, "SELECT (run - 9) || ' ' || cause || ' ' ||"
                                            "       CAST(round(seconds / 60) AS INTEGER)"
                                            "  FROM v_cost ORDER BY run, cause");
        if (!text_equal(minutes, useful_rows[i].minutes))
            fail_msg("%s: \"%s\", not \"%s\"", useful_rows[i].name, minutes,
                     useful_rows[i].minutes);
        free(minutes);
        record_assert(&record,
                      "SELECT abs((SELECT sum(gpu_hours) FROM v_cost)"
                      "           - (SELECT sum(gpu_hours) FROM v_run)) < 0.001",
                      "1");
        workflow_free(workflow);
        record_close(&record);
    }
}

/* The matrix judges by the run of a rung, even if the next rung begins from the start. */
static void the_result_of_a_rung_is_useful(void **state)
{
    (void)state;
    static const struct attempt attempts[] = {{OUTCOME_SUCCEEDED, 0, 100, 0},
                                              {OUTCOME_SUCCEEDED, 0, 300, 0}};
    struct record record;
    record_open(&record);
    struct workflow *workflow = record_workflow(1);
    struct matrix *matrix = phase_add_matrix(&workflow->phases[1]);
    matrix->rung_count = 2;
    matrix_add_member(matrix, &workflow->phases[0]);
    record_insert(&record, workflow);
    for (unsigned i = 0; i < 2; i++)
        add_attempt(&record, &workflow->phases[0], i, &attempts[i]);
    record_assert(&record, "SELECT DISTINCT cause FROM v_cost", "useful");
    workflow_free(workflow);
    record_close(&record);
}

/* An allocation of an hour: when its runs were there, in minutes from its first start. The runs
 * after the first are guests. A job that was requeued has several starts. */
static const struct {
    const char *name;
    unsigned lanes; /* 0: the phase is not a member */
    struct {
        int from, until, job_started; /* `from` is -1: it was never there */
    } runs[3];
    const char *minutes; /* of the allocation, by their use */
    int started, ended;  /* the newest start of the job, and its end. -1: the job waits to start
                            again */
} paid_rows[] = {
    {"what no run has is waited", 0, {{10, 50, 0}, {0, 0, 0}}, "useful 40,waiting 20", 0, 60},
    {"a launch that never was is waited too", 0, {{-1, 0, 0}, {0, 0, 0}}, "waiting 60", 0, 60},
    {"no time is paid twice",
     0,
     {{10, 40, 0}, {20, 50, 0}},
     "failed 10,useful 30,waiting 20",
     0,
     60},
    {"one of two guests pays",
     0,
     {{0, 20, 0}, {0, 40, 0}, {10, 40, 0}},
     "failed 20,useful 20,waiting 20",
     0,
     60},
    {"each pays for its part",
     4,
     {{0, 60, 0}, {40, 60, 0}},
     "failed 5,useful 15,waiting 40",
     0,
     60},
    {"the first may end early",
     4,
     {{0, 20, 0}, {0, 60, 0}},
     "failed 15,useful 5,waiting 40",
     0,
     60},
    {"they may fill it", 1, {{0, 20, 0}, {20, 60, 0}}, "failed 40,useful 20", 0, 60},
    {"what was waited before each requeue stays",
     0,
     {{5, 10, 0}, {25, 40, 20}, {55, 80, 50}},
     "failed 40,useful 5,waiting 15",
     50,
     80},
    {"so it stays side by side",
     2,
     {{0, 20, 0}, {0, 10, 0}, {40, 80, 40}},
     "failed 25,useful 10,waiting 25",
     40,
     80},
    {"a rank may never have begun", 0, {{-1, 20, 0}, {50, 80, 40}}, "failed 30,waiting 30", 40, 80},
    {"a requeued job may wait", 0, {{10, 60, 0}}, "useful 50,waiting 10", -1, 60},
};

static const int64_t paid_start_ms = 1790000000000 - 2 * (int64_t)HOUR_MS;

static int64_t paid_ms(int minutes)
{
    return paid_start_ms + minutes * (int64_t)HOUR_MS / 60;
}

static void add_paid_run(struct record *record, struct phase *phase, size_t row, unsigned number)
{
    struct allocation *allocation =
        number > 0 ? phase->workflow->allocations[0] : workflow_add_allocation(phase->workflow);
    struct seat *seat = workflow_add_seat(phase->workflow);
    struct run *run = workflow_add_run(phase->workflow, phase);
    int from = paid_rows[row].runs[number].from, until = paid_rows[row].runs[number].until;
    int started = paid_rows[row].started;
    seat->id = 21 + number;
    seat->allocation = allocation;
    (void)snprintf(seat->token, sizeof seat->token, "%032u", number);
    if (number == 0) {
        *allocation = (struct allocation){.workflow = phase->workflow,
                                          .id = 21,
                                          .seat = seat,
                                          .node_count = phase->nodes,
                                          .gpus_per_node = phase->gpus_per_node,
                                          .started_ms = started < 0 ? 0 : paid_ms(started),
                                          .ended_ms = paid_ms(paid_rows[row].ended),
                                          .ended = true};
        memcpy(allocation->token, seat->token, sizeof allocation->token);
    }
    run->id = 11 + number;
    run->attempt = ++phase->attempts;
    run->seat = seat;
    run->state = RUN_ENDED;
    run->outcome = number == 0 && from >= 0 ? OUTCOME_SUCCEEDED : OUTCOME_FAILED;
    run->last_step = 100;
    run->started_ms = from >= 0 ? paid_ms(from) : 0;
    run->ended_ms = until ? paid_ms(until) : 0;
    run->job_started_ms = paid_ms(paid_rows[row].runs[number].job_started);
    record_save_run(record, run);
}

/* Makes a member, or a phase and one beside it. */
static struct workflow *paid_workflow(struct record *record, size_t row)
{
    struct workflow *workflow = record_workflow(1);
    struct phase *first = &workflow->phases[0], *second = &workflow->phases[1];
    bool is_member = paid_rows[row].lanes > 0;
    if (is_member) {
        struct matrix *matrix = phase_add_matrix(second);
        matrix->is_parallel = true;
        matrix->lanes = paid_rows[row].lanes;
        matrix_add_member(matrix, first);
    } else {
        second->beside = first;
        second->nodes = first->nodes;
    }
    record_insert(record, workflow);
    add_paid_run(record, first, row, 0);
    for (unsigned i = 1; i < 3; i++)
        if (paid_rows[row].runs[i].until > 0)
            add_paid_run(record, is_member ? first : second, row, i);
    return workflow;
}

/* The hours that the workflow and its phases took are those of the allocation. */
static void assert_expected_hours(const struct record *record, const char *name)
{
    static const char expect[] =
        "UPDATE workflow SET resolved = json_set(resolved, '$.expect', json('{\"hours\": [1, "
        "1]}'));"
        "UPDATE phase SET spec = json_set(spec, '$.expect', json('{\"hours\": [1, 1]}'))"
        " WHERE NOT EXISTS (SELECT 1 FROM member WHERE member.phase = phase.id)";
    json_t *list;
    const json_t *one;
    size_t i;
    double hours[2] = {0}; /* of phases, and of the whole */
    char *message = NULL;
    if (sqlite3_exec(record->store->db, expect, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s", message);
    assert_int_equal(answer_expected(record->store, 1, &list, NULL), 0);
    json_array_foreach(list, i, one) hours[json_is_null(json_object_get(one, "phase"))] +=
        json_number_value(json_object_get(one, "hours"));
    if (fabs(hours[0] - 1) > 0.001 || fabs(hours[1] - 1) > 0.001)
        fail_msg("%s: %g hours of phases, %g hours of the workflow", name, hours[0], hours[1]);
    json_decref(list);
}

/* For `status`, `cost`, budgets and the month: 16 GPUs for an hour, whatever runs were there. */
static void all_uses_of_an_allocation_add_up_to_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof paid_rows / sizeof *paid_rows; i++) {
        struct record record;
        struct store_spending spent, month, later;
        json_t *json;
        record_open(&record);
        struct workflow *workflow = paid_workflow(&record, i);
        char *minutes = record_ask(&record, "SELECT cause || ' ' ||"
                                            "       CAST(round(sum(paid_seconds) / 60) AS INTEGER)"
                                            "  FROM v_cost WHERE paid_seconds > 0"
                                            " GROUP BY cause ORDER BY cause");
        if (!text_equal(minutes, paid_rows[i].minutes))
            fail_msg("%s: \"%s\", not \"%s\"", paid_rows[i].name, minutes, paid_rows[i].minutes);
        free(minutes);
        assert_int_equal(store_spending(record.store, 1, &spent, NULL), 0);
        assert_int_equal(store_spending_since(record.store, paid_start_ms, &month, NULL), 0);
        assert_int_equal(store_spending_since(record.store, paid_start_ms + HOUR_MS, &later, NULL),
                         0);
        assert_int_equal(answer_workflow(record.store, 1, ANSWER_FULL, &json, NULL), 0);
        double status_s = json_number_value(json_object_get(json, "gpu_seconds"));
        assert_float_equal(spent.gpu_hours, 16, 0.001);
        assert_float_equal(spent.hours, 1, 0.001);
        assert_float_equal(month.gpu_hours, 16, 0.001);
        assert_float_equal(month.hours, 1, 0.001);
        assert_float_equal(later.gpu_hours, 0, 0);
        assert_float_equal(status_s / 3600, 16, 0.001);
        assert_float_equal(json_number_value(json_object_get(json, "cost_usd")), spent.usd, 0.001);
        json_decref(json);
        assert_expected_hours(&record, paid_rows[i].name);
        workflow_free(workflow);
        record_close(&record);
    }
}

/* The first phase has an expectation, or the matrix of which it is a member has one. */
static void an_answer_has_the_expected_and_the_real_cost(void **state)
{
    (void)state;
    static const struct attempt attempts[] = {{OUTCOME_PREEMPTED, 0, 100, 100},
                                              {OUTCOME_SUCCEEDED, 100, 200, 200}};
    for (unsigned is_member = 0; is_member < 2; is_member++) {
        struct record record;
        struct error err;
        json_t *list;
        record_open(&record);
        struct workflow *workflow = record_workflow(1);
        struct store_submission submission = record_submission();
        json_t *expect = json_pack("{s:[f, f]}", "hours", 0.5, 1.0);
        json_t *phases = json_object_get(submission.resolved, "phases");
        (void)json_object_set(json_array_get(phases, is_member), "expect", expect);
        (void)json_object_set_new((json_t *)submission.resolved, "expect",
                                  json_pack("{s:[i, i]}", "gpu_hours", 32, 64));
        if (is_member)
            matrix_add_member(phase_add_matrix(&workflow->phases[1]), &workflow->phases[0]);
        record_begin(&record);
        assert_int_equal(store_workflow_insert(record.store, workflow, &submission, &err), 0);
        record_commit(&record);
        for (unsigned i = 0; i < 2; i++)
            add_attempt(&record, &workflow->phases[0], i, &attempts[i]);
        assert_int_equal(answer_expected(record.store, 1, &list, &err), 0);
        json_t *expected =
            json_pack("[{s:s, s:O, s:f, s:f, s:f}, {s:n, s:{s:[i, i]}, s:f, s:f, s:f}]", "phase",
                      is_member ? "train" : "validate", "expect", expect, "hours", 2.0, "gpu_hours",
                      32.0, "usd", 80.0, "phase", "expect", "gpu_hours", 32, 64, "hours", 2.0,
                      "gpu_hours", 32.0, "usd", 80.0);
        char *text = json_dumps(list, JSON_COMPACT), *wanted = json_dumps(expected, JSON_COMPACT);
        assert_string_equal(text, wanted);
        free(text);
        free(wanted);
        json_decref(list);
        json_decref(expected);
        json_decref(expect);
        record_submission_fini(&submission);
        workflow_free(workflow);
        record_close(&record);
    }
}

/* One phase goes on for 100 s on 8 GPUs, and another has ended. */
static void without_a_price_the_forecast_is_in_gpu_hours(void **state)
{
    (void)state;
    json_t *workflow = json_object();
    json_t *phases =
        json_pack("[{s:f, s:n, s:i, s:f, s:n}, {s:n, s:n, s:i, s:f, s:n}]", "eta_s", 100.0,
                  "usd_per_hour", "gpus_paid", 8, "gpu_seconds", 10.0, "cost_usd", "eta_s",
                  "usd_per_hour", "gpus_paid", 4, "gpu_seconds", 60.0, "cost_usd");
    json_t *first = json_array_get(phases, 0);
    projection_add(first);
    projection_add(json_array_get(phases, 1));
    projection_sum(phases, workflow);
    assert_true(json_is_null(json_object_get(workflow, "projected_cost_usd")));
    assert_float_equal(json_number_value(json_object_get(first, "projected_gpu_seconds")), 810, 0);
    assert_float_equal(json_number_value(json_object_get(workflow, "projected_gpu_seconds")), 870,
                       0);
    assert_null(json_object_get(first, "gpus_paid"));
    json_decref(phases);
    json_decref(workflow);
}

/* Adds a workflow whose first phase succeeded after so many hours. `gpu_type`: which of two types
 * it got; NULL: it had no choice. */
static void add_similar(struct record *record, uint64_t id, unsigned hours, const char *gpu_type)
{
    struct workflow *workflow = record_workflow(id);
    struct phase *phase = &workflow->phases[0];
    if (gpu_type)
        phase->alternatives = text_format("%s,a100", phase->gpu_type);
    record_insert(record, workflow);
    struct run *run = record_add_run(record, phase, 10 * id, 20 * id);
    if (gpu_type)
        (void)snprintf(run->seat->allocation->gpu_type, sizeof run->seat->allocation->gpu_type,
                       "%s", gpu_type);
    run->state = RUN_ENDED;
    run->outcome = OUTCOME_SUCCEEDED;
    run->started_ms = 1790000000000;
    run->ended_ms = run->started_ms + (int64_t)hours * HOUR_MS;
    phase->state = PHASE_SUCCEEDED;
    record_save_run(record, run);
    workflow_free(workflow);
}

static void the_newest_similar_phases_say_how_long_a_phase_takes(void **state)
{
    (void)state;
    enum { NEWEST = 20 }; /* the older ones took longer */
    struct record record;
    struct error err;
    struct store_submission submission = record_submission();
    struct workflow *workflow = record_workflow(1);
    unsigned count;
    double mean_s;
    record_open(&record);
    for (unsigned i = 1; i <= 2 + NEWEST; i++)
        add_similar(&record, i, i <= 2 ? 30 : 2, NULL);
    const struct phase *phases = workflow->phases;
    assert_int_equal(
        store_similar(record.store, submission.resolved, &phases[0], &count, &mean_s, &err), 0);
    assert_int_equal(count, NEWEST);
    assert_float_equal(mean_s, 7200, 0);
    assert_int_equal(
        store_similar(record.store, submission.resolved, &phases[1], &count, &mean_s, &err), 0);
    assert_int_equal(count, 0); /* no phase of this name has succeeded */
    workflow_free(workflow);
    record_submission_fini(&submission);
    record_close(&record);
}

/* A phase that could choose took 2 hours with an h100 and 6 hours with an a100. */
static void times_of_other_gpus_are_not_similar(void **state)
{
    (void)state;
    static const struct {
        const char *gpu_type, *alternatives;
        unsigned count;
        double hours;
    } rows[] = {{"h100", NULL, 2, 3},        {"a100", NULL, 1, 6},   {"h100", "h100,a100", 3, 4},
                {"h200", "h200,a100", 1, 6}, {"h200", NULL, 0, NAN}, {NULL, NULL, 1, 4}};
    struct record record;
    struct error err;
    struct store_submission submission = record_submission();
    struct workflow *workflow = record_workflow(3);
    record_open(&record);
    add_similar(&record, 1, 2, "h100");
    add_similar(&record, 2, 6, "a100");
    add_similar(&record, 3, 4, "h100"); /* names no type, and ran in the job of a phase that does */
    assert_int_equal(sqlite3_exec(record.store->db,
                                  "UPDATE phase SET gpu_type = NULL WHERE workflow = 3", NULL, NULL,
                                  NULL),
                     SQLITE_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct phase phase = workflow->phases[0];
        unsigned count;
        double mean_s;
        phase.gpu_type = (char *)rows[i].gpu_type;
        phase.alternatives = (char *)rows[i].alternatives;
        assert_int_equal(
            store_similar(record.store, submission.resolved, &phase, &count, &mean_s, &err), 0);
        if (count != rows[i].count || (count && fabs(mean_s / 3600 - rows[i].hours) > 0.001))
            fail_msg("row %zu: %u similar phases took %g hours", i, count, mean_s / 3600);
    }
    workflow_free(workflow);
    record_submission_fini(&submission);
    record_close(&record);
}

/* A plan asks this for each member of a sweep. */
static void similar_phases_are_found_by_an_index(void **state)
{
    (void)state;
    struct record record;
    record_open(&record);
    char *sql = text_format("EXPLAIN QUERY PLAN %s",
                            sqlite3_sql(store_stmt(record.store, Q_PHASE_SIMILAR)->sqlite));
    sqlite3_stmt *stmt;
    assert_int_equal(sqlite3_prepare_v2(record.store->db, sql, -1, &stmt, NULL), SQLITE_OK);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        const char *detail = (const char *)sqlite3_column_text(stmt, 3);
        if (text_starts(detail, "SCAN ") && !strstr(detail, "subquery"))
            fail_msg("%s", detail);
    }
    (void)sqlite3_finalize(stmt);
    free(sql);
    record_close(&record);
}

static int count_steps(void *context)
{
    ++*(unsigned *)context;
    return 0;
}

/* As for members of a packed matrix: 200 phases of one workflow, one after another in one
 * allocation. Each look at the status asks for their answers. */
static void many_phases_of_one_allocation_are_answered_fast(void **state)
{
    (void)state;
    enum { STEPS_PER_CALL = 1000, THOUSANDS_MAX = 10000 }; /* steps of SQLite's virtual machine */
    struct record record;
    record_open(&record);
    struct workflow *workflow = record_workflow(1);
    record_insert(&record, workflow);
    static const struct attempt attempt = {OUTCOME_SUCCEEDED, 0, 100, 0};
    add_attempt(&record, &workflow->phases[0], 1, &attempt);
    static const char more[] =
        "BEGIN;"
        "CREATE TEMP TABLE number AS WITH RECURSIVE n(i) AS"
        " (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 199) SELECT i FROM n;"
        "CREATE TEMP TABLE phases AS SELECT phase.*, i FROM phase, number WHERE id = (SELECT phase "
        "FROM run);"
        "UPDATE phases SET id = 1000 + i, position = 1000 + i, name = 'm' || i;"
        "ALTER TABLE phases DROP COLUMN i;"
        "INSERT INTO phase SELECT * FROM phases;"
        "CREATE TEMP TABLE runs AS SELECT run.*, i FROM run, number;"
        "UPDATE runs SET id = 1000 + i, phase = 1000 + i, started = started + i * 1000,"
        "                ended = started + i * 1000 + 900;"
        "ALTER TABLE runs DROP COLUMN i;"
        "INSERT INTO run SELECT * FROM runs;"
        "COMMIT";
    char *message = NULL;
    if (sqlite3_exec(record.store->db, more, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s", message);
    unsigned thousands = 0;
    json_t *json;
    sqlite3_progress_handler(record.store->db, STEPS_PER_CALL, count_steps, &thousands);
    assert_int_equal(answer_workflow(record.store, 1, ANSWER_FULL, &json, NULL), 0);
    sqlite3_progress_handler(record.store->db, 0, NULL, NULL);
    assert_true(json_array_size(json_object_get(json, "phases")) >= 200);
    if (thousands > THOUSANDS_MAX)
        fail_msg("%u thousand steps", thousands);
    json_decref(json);
    workflow_free(workflow);
    record_close(&record);
}

/* All workflows: one with an old phase, and one with more phases than an answer once had rows. */
static void no_workflow_is_left_out_of_the_costs(void **state)
{
    (void)state;
    static const struct attempt attempt = {OUTCOME_SUCCEEDED, 0, 100, 0};
    static const char more[] =
        "BEGIN;"
        "CREATE TEMP TABLE number AS WITH RECURSIVE n(i) AS"
        " (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT i FROM n;"
        "CREATE TEMP TABLE phases AS SELECT phase.*, i FROM phase, number WHERE id ="
        " (SELECT max(phase) FROM run);"
        "UPDATE phases SET id = 1000 + i, position = 1000 + i, name = 'm' || i;"
        "ALTER TABLE phases DROP COLUMN i;"
        "INSERT INTO phase SELECT * FROM phases;"
        "CREATE TEMP TABLE jobs AS SELECT job.*, i FROM job, number WHERE id ="
        " (SELECT max(job) FROM run);"
        "UPDATE jobs SET id = 1000 + i, token = 't' || i;"
        "ALTER TABLE jobs DROP COLUMN i;"
        "INSERT INTO job SELECT * FROM jobs;"
        "CREATE TEMP TABLE runs AS SELECT run.*, i FROM run, number WHERE id ="
        " (SELECT max(id) FROM run);"
        "UPDATE runs SET id = 1000 + i, phase = 1000 + i, job = 1000 + i;"
        "ALTER TABLE runs DROP COLUMN i;"
        "INSERT INTO run SELECT * FROM runs;"
        "COMMIT";
    static const double gpu_hours[] = {16.0 * 20001, 16};
    struct record record;
    struct error err;
    json_t *json;
    char *message = NULL;
    record_open(&record);
    for (uint64_t id = 1; id <= 2; id++) {
        struct workflow *workflow = record_workflow(id);
        record_insert(&record, workflow);
        add_attempt(&record, &workflow->phases[0], (unsigned)id, &attempt);
        workflow_free(workflow);
    }
    if (sqlite3_exec(record.store->db, more, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s", message);
    assert_int_equal(answer_costs(record.store, 0, 0, INT64_MAX, &json, &err), 0);
    const json_t *costs = json_object_get(json, "costs");
    assert_int_equal(json_array_size(costs), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *row = json_array_get(costs, i);
        assert_int_equal(json_integer_value(json_object_get(row, "workflow")), 2 - i);
        assert_true(json_is_null(json_object_get(row, "phase")));
        assert_float_equal(json_number_value(json_object_get(row, "gpu_seconds")) / 3600,
                           gpu_hours[i], 0.001);
    }
    json_decref(json);
    assert_int_equal(answer_costs(record.store, 2, 0, INT64_MAX, &json, &err), 0);
    assert_int_equal(json_array_size(json_object_get(json, "costs")), 20001);
    json_decref(json);
    record_close(&record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_useful_if_a_run_resumed_from_them),
        cmocka_unit_test(the_result_of_a_rung_is_useful),
        cmocka_unit_test(without_a_price_the_forecast_is_in_gpu_hours),
        cmocka_unit_test(all_uses_of_an_allocation_add_up_to_it),
        cmocka_unit_test(an_answer_has_the_expected_and_the_real_cost),
        cmocka_unit_test(the_newest_similar_phases_say_how_long_a_phase_takes),
        cmocka_unit_test(times_of_other_gpus_are_not_similar),
        cmocka_unit_test(similar_phases_are_found_by_an_index),
        cmocka_unit_test(many_phases_of_one_allocation_are_answered_fast),
        cmocka_unit_test(no_workflow_is_left_out_of_the_costs),
    };
    return cmocka_run_group_tests_name("record costs", tests, NULL, NULL);
}
