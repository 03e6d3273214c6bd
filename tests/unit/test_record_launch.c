/* What the record keeps apart from the core's model: what was submitted, secrets, and how far
 * journals were read. */
#include "tests/unit/record.h"
#include "tests/unit/unit.h"

#include "daemon/store/notice.h"
#include "daemon/store/store_private.h"
#include "lib/error.h"
#include "lib/mac.h"
#include "lib/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void a_repeated_submission_is_recognised_by_its_key(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    uint64_t found = 0;
    struct workflow *workflow = record_workflow(1), *second = record_workflow(2);
    struct store_submission submission = record_submission();
    submission.key = "0123456789abcdef0123456789abcdef";
    record_open(&record);
    assert_int_equal(store_find_key(record.store, submission.key, &found, &err), -ENOENT);
    record_begin(&record);
    assert_int_equal(store_workflow_insert(record.store, workflow, &submission, &err), 0);
    assert_int_equal(store_find_key(record.store, submission.key, &found, &err), 0);
    assert_int_equal(found, 1);
    record_commit(&record);
    record_begin(&record);
    assert_int_equal(store_workflow_insert(record.store, second, &submission, &err), -EEXIST);
    assert_int_equal(store_commit(record.store, &err), -EEXIST);
    record_assert(&record, "SELECT id FROM workflow", "1");
    record_insert(&record, second); /* without a key there may be any number of workflows */
    record_submission_fini(&submission);
    workflow_free(workflow);
    workflow_free(second);
    record_close(&record);
}

static void a_run_gets_what_was_submitted(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    struct store_launch launch;
    json_t *spec;
    struct workflow *workflow = record_workflow(1);
    record_open(&record);
    record_insert(&record, workflow);
    assert_int_equal(store_launch_load(record.store, 100, &launch, &err), 0);
    assert_string_equal(json_string_value(json_object_get(launch.spec, "name")), "validate");
    assert_string_equal(json_string_value(json_object_get(launch.environment, "PATH")), "/bin");
    assert_string_equal(json_string_value(json_array_get(launch.limits, 0)), "NOFILE=1024");
    assert_string_equal(launch.workdir, "/work dir");
    assert_int_equal(launch.umask, 022);
    store_launch_fini(&launch);
    assert_int_equal(store_phase_spec(record.store, 101, &spec, &err), 0);
    assert_string_equal(json_string_value(json_object_get(spec, "name")), "train");
    json_decref(spec);
    assert_int_equal(store_launch_load(record.store, 999, &launch, &err), -ENOENT);
    assert_int_equal(store_phase_spec(record.store, 999, &spec, &err), -ENOENT);
    record_assert(&record, "SELECT spec || overrides || resolved FROM workflow",
                  "name: trm\n{\"validate.iterations\":\"10\"}"
                  "{\"name\":\"trm\",\"price\":{\"by_gpu\":{\"h100\":2.5}}}");
    workflow_free(workflow);
    record_close(&record);
}

static void expect_program(struct record *record, uint64_t phase, const char *expected)
{
    json_t *spec;
    assert_int_equal(store_phase_spec(record->store, phase, &spec, NULL), 0);
    assert_string_equal(json_string_value(json_object_get(spec, "run")), expected);
    json_decref(spec);
}

/* Inserts a workflow whose first phase runs another program on an H200. */
static void insert_by_gpu(struct record *record, const struct workflow *workflow)
{
    struct store_submission submission = record_submission();
    json_t *phase = json_array_get(json_object_get(submission.resolved, "phases"), 0);
    (void)json_object_set_new(phase, "run", json_string("any"));
    (void)json_object_set_new(
        phase, "by_gpu", json_pack("[{s:s, s:{s:s}}]", "match", "h200", "phase", "run", "fast"));
    record_begin(record);
    assert_int_equal(store_workflow_insert(record->store, workflow, &submission, NULL), 0);
    record_commit(record);
    record_submission_fini(&submission);
}

static void add_run_on(struct record *record, struct phase *phase, uint64_t run, const char *by_gpu)
{
    (void)record_add_run(record, phase, run, run + 10);
    record_begin(record);
    assert_int_equal(store_run_hardware_set(record->store, run, "a GPU", by_gpu, NULL), 0);
    record_commit(record);
}

/* `by_gpu` changes a phase for the GPUs of a run. */
static void a_phase_is_read_as_its_newest_run_had_it(void **state)
{
    (void)state;
    struct record record;
    struct workflow *workflow = record_workflow(1);
    record_open(&record);
    insert_by_gpu(&record, workflow);
    expect_program(&record, 100, "any");
    for (uint64_t run = 10; run < 13; run++) {
        const char *by_gpu = run == 11 ? "h200" : NULL;
        add_run_on(&record, &workflow->phases[0], run, by_gpu);
        expect_program(&record, 100, by_gpu ? "fast" : "any");
    }
    workflow_free(workflow);
    record_close(&record);
}

/* The member then goes on with the next rung, on a GPU of another type. */
static void a_member_is_read_as_the_run_had_it_whose_results_it_reuses(void **state)
{
    (void)state;
    struct record record;
    struct workflow *earlier = record_workflow(1), *workflow = record_workflow(2);
    struct phase *member = &workflow->phases[0];
    struct matrix *matrix = phase_add_matrix(&workflow->phases[1]);
    matrix->rung_count = 2;
    matrix_add_member(matrix, member);
    member->reused = earlier->phases[0].id;
    record_open(&record);
    insert_by_gpu(&record, earlier);
    add_run_on(&record, &earlier->phases[0], 10, NULL);
    add_run_on(&record, &earlier->phases[0], 11, "h200");
    insert_by_gpu(&record, workflow);
    expect_program(&record, member->id, "fast");
    add_run_on(&record, member, 12, NULL);
    expect_program(&record, member->id, "any");
    workflow_free(workflow);
    workflow_free(earlier);
    record_close(&record);
}

static void a_rehearsal_still_tries_to_resume_after_a_restart(void **state)
{
    (void)state;
    struct record record;
    struct store_submission submission = record_submission();
    struct workflow *workflow = record_workflow(1), *loaded;
    json_t *phases = json_object_get(submission.resolved, "phases");
    (void)json_object_set_new(json_array_get(phases, 0), "until_resumed",
                              json_pack("{s:i, s:i}", "steps", 5, "elapsed", 900));
    record_open(&record);
    record_begin(&record);
    assert_int_equal(store_workflow_insert(record.store, workflow, &submission, NULL), 0);
    record_commit(&record);
    record_reopen(&record);
    assert_int_equal(store_load_workflow(record.store, 1, &loaded, NULL), 0);
    assert_true(loaded->phases[0].must_resume);
    assert_false(loaded->phases[1].must_resume);
    record_submission_fini(&submission);
    workflow_free(loaded);
    workflow_free(workflow);
    record_close(&record);
}

/* The phase has the newest checkpoint of its last run. The run before saved another one. */
static void a_run_that_has_saved_is_known_after_a_restart(void **state)
{
    (void)state;
    struct record record;
    struct workflow *workflow = record_workflow(1), *loaded;
    struct phase *phase = &workflow->phases[0];
    record_open(&record);
    record_insert(&record, workflow);
    (void)record_add_run(&record, phase, 10, 20);
    (void)record_add_run(&record, phase, 11, 21);
    record_begin(&record);
    for (int run = 0; run < 2; run++)
        assert_int_equal(store_checkpoint_add(record.store,
                                              &(struct store_checkpoint){.run = 10 + (uint64_t)run,
                                                                         .path = run ? "/9" : "/5",
                                                                         .step = run ? 9 : 5},
                                              NULL),
                         0);
    record_commit(&record);
    phase->checkpoint_path = strdup("/9");
    phase->checkpoint_step = 9;
    record_apply(&record, &(struct core_effect){.kind = FX_SAVE_PHASE, .phase = phase});
    record_reopen(&record);
    assert_int_equal(store_load_workflow(record.store, 1, &loaded, NULL), 0);
    assert_false(loaded->runs[0]->has_saved);
    assert_true(loaded->runs[1]->has_saved);
    workflow_free(loaded);
    workflow_free(workflow);
    record_close(&record);
}

static void read_phase_id(struct record *record, uint64_t phase, char ret_id[STORE_PHASE_ID_SIZE])
{
    struct error err;
    struct store_launch launch;
    assert_int_equal(store_launch_load(record->store, phase, &launch, &err), 0);
    memcpy(ret_id, launch.phase_id, STORE_PHASE_ID_SIZE);
    store_launch_fini(&launch);
}

static void a_phase_has_an_id_that_no_phase_of_another_submission_has(void **state)
{
    (void)state;
    struct record record;
    char first[STORE_PHASE_ID_SIZE], again[STORE_PHASE_ID_SIZE], other[STORE_PHASE_ID_SIZE];
    struct workflow *workflow = record_workflow(1);
    record_open(&record);
    record_insert(&record, workflow);
    read_phase_id(&record, 100, first);
    read_phase_id(&record, 100, again);
    read_phase_id(&record, 101, other);
    assert_int_equal(strlen(first), STORE_PHASE_ID_SIZE - 1);
    assert_string_equal(first, again);
    assert_string_not_equal(first, other);
    static const char *const differences[] = {
        "UPDATE workflow SET submitted = submitted + 1",
        "UPDATE workflow SET key = 'another'",
        "UPDATE workflow SET workdir = '/elsewhere'",
    };
    for (size_t i = 0; i < sizeof differences / sizeof *differences; i++) {
        assert_int_equal(store_exec(record.store, differences[i], "", NULL), 0);
        read_phase_id(&record, 100, other);
        assert_string_not_equal(first, other);
        memcpy(first, other, sizeof first);
    }
    workflow_free(workflow);
    record_close(&record);
}

static void a_secret_stays_when_the_run_is_saved(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    char secret[MAC_SECRET_SIZE], read[MAC_SECRET_SIZE] = "";
    mac_random(secret, sizeof secret);
    struct workflow *workflow = record_workflow(1);
    record_open(&record);
    record_insert(&record, workflow);
    struct run *run = record_add_run(&record, &workflow->phases[0], 10, 20);
    assert_int_equal(store_secret(record.store, 10, read, &err), -ENOENT);
    record_begin(&record);
    assert_int_equal(store_secret_set(record.store, 10, secret, &err), 0);
    assert_int_equal(store_secret_set(record.store, 11, secret, &err), -ENOENT);
    record_commit(&record);
    record_save_run(&record, run);
    assert_int_equal(store_secret(record.store, 10, read, &err), 0);
    assert_string_equal(read, secret);
    workflow_free(workflow);
    record_close(&record);
}

static void a_journal_position_is_kept_for_each_run_and_node(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    uint64_t sequence = 99;
    struct workflow *workflow = record_workflow(1);
    record_open(&record);
    record_insert(&record, workflow);
    record_add_run(&record, &workflow->phases[0], 10, 20);
    record_add_run(&record, &workflow->phases[0], 11, 21);
    assert_int_equal(store_journal_committed(record.store, 10, "n1", &sequence, &err), 0);
    assert_int_equal(sequence, 0);
    record_begin(&record);
    assert_int_equal(store_journal_set(record.store, 10, "n1", 3, &err), 0);
    assert_int_equal(store_journal_set(record.store, 10, "n1", 7, &err), 0);
    assert_int_equal(store_journal_set(record.store, 11, "n1", 1, &err), 0);
    record_commit(&record);
    record_begin(&record);
    assert_int_equal(store_journal_set(record.store, 10, "n1", 9, &err), 0);
    store_rollback(record.store);
    record_reopen(&record);
    static const struct {
        uint64_t run;
        const char *node;
        uint64_t sequence;
    } cases[] = {{10, "n1", 7}, {10, "n2", 0}, {10, "lead", 0}, {11, "n1", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(
            store_journal_committed(record.store, cases[i].run, cases[i].node, &sequence, &err), 0);
        assert_int_equal(sequence, cases[i].sequence);
    }
    workflow_free(workflow);
    record_close(&record);
}

/* A notice is tried again when its delay is over, and also if the clock was set back by more than
 * that. However often it was tried, the delay is an hour at most. */
static void a_notice_is_due_after_its_delay(void **state)
{
    (void)state;
    static const struct {
        unsigned tries;
        int64_t due_in_ms;
        size_t count; /* of notices that are due */
    } rows[] = {
        {0, 0, 1},        {0, -1, 1},       {1, 1, 0},        {1, 15000, 0},    {1, 15001, 1},
        {2, 30000, 0},    {2, 30001, 1},    {20, 3600000, 0}, {20, 3600001, 1}, {60, 3600000, 0},
        {60, 3600001, 1}, {70, 3600000, 0}, {70, -1, 1},
    };
    struct record record;
    record_open(&record);
    struct workflow *workflow = record_workflow(7);
    record_insert(&record, workflow);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *notices;
        char *sql =
            text_format("DELETE FROM notice; INSERT INTO notice (workflow, kind, way, message,"
                        " time, tries, due) VALUES (7, 'held', 'command', '', 1, %u, %lld)",
                        rows[i].tries, 1000000000000 + (long long)rows[i].due_in_ms);
        assert_int_equal(sqlite3_exec(record.store->db, sql, NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(store_notices(record.store, 1000000000000, 9, &notices, NULL), 0);
        if (json_array_size(notices) != rows[i].count)
            fail_msg("after %u tries, due in %lld ms", rows[i].tries, (long long)rows[i].due_in_ms);
        json_decref(notices);
        free(sql);
    }
    workflow_free(workflow);
    record_close(&record);
}

/* Two phases are held at once, with the same words. A command for the workflow, or a budget, gives
 * one notice. Otherwise each phase waits for a person. */
static void each_phase_that_waits_for_a_person_gives_a_notice(void **state)
{
    (void)state;
    static const struct {
        enum phase_hold hold;
        const char *message, *phases;
    } rows[] = {{HOLD_GATE, "gate failed: low", "700,701"},
                {HOLD_MANUAL, "promote: manual", "700,701"},
                {HOLD_USER, "held by anna", "700"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct record record;
        record_open(&record);
        struct workflow *workflow = record_workflow(7);
        record_insert(&record, workflow);
        assert_int_equal(
            sqlite3_exec(record.store->db,
                         "UPDATE workflow SET resolved ="
                         " '{\"notify\": {\"on\": [\"held\"], \"command\": \"true\"}}'",
                         NULL, NULL, NULL),
            SQLITE_OK);
        for (size_t j = 0; j < 2; j++) {
            struct phase *phase = &workflow->phases[j];
            struct core_effect effect = {
                .kind = FX_SAVE_PHASE, .workflow = workflow, .phase = phase, .to = "held"};
            phase->state = PHASE_HELD;
            phase->hold = rows[i].hold;
            record_apply(&record, &effect);
            effect.kind = FX_HISTORY;
            (void)snprintf(effect.message, sizeof effect.message, "%s", rows[i].message);
            record_apply(&record, &effect);
        }
        record_assert(&record, "SELECT phase FROM notice ORDER BY phase", rows[i].phases);
        workflow_free(workflow);
        record_close(&record);
    }
}

static void a_run_that_was_never_submitted_was_not_refused(void **state)
{
    (void)state;
    struct record record;
    json_t *json;
    struct workflow *workflow = record_workflow(1);
    record_open(&record);
    record_insert(&record, workflow);
    struct run *run = record_add_run(&record, &workflow->phases[0], 11, 21);
    run->state = RUN_ENDED;
    run->outcome = OUTCOME_CANCELLED;
    record_save_run(&record, run);
    assert_int_equal(answer_run(record.store, 1, "validate", 1, &json, NULL), 0);
    assert_true(json_is_false(json_object_get(json, "refused")));
    json_decref(json);
    workflow_free(workflow);
    record_close(&record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_repeated_submission_is_recognised_by_its_key),
        cmocka_unit_test(a_run_gets_what_was_submitted),
        cmocka_unit_test(a_phase_is_read_as_its_newest_run_had_it),
        cmocka_unit_test(a_member_is_read_as_the_run_had_it_whose_results_it_reuses),
        cmocka_unit_test(a_rehearsal_still_tries_to_resume_after_a_restart),
        cmocka_unit_test(a_run_that_has_saved_is_known_after_a_restart),
        cmocka_unit_test(a_phase_has_an_id_that_no_phase_of_another_submission_has),
        cmocka_unit_test(a_run_that_was_never_submitted_was_not_refused),
        cmocka_unit_test(a_secret_stays_when_the_run_is_saved),
        cmocka_unit_test(a_journal_position_is_kept_for_each_run_and_node),
        cmocka_unit_test(a_notice_is_due_after_its_delay),
        cmocka_unit_test(each_phase_that_waits_for_a_person_gives_a_notice),
    };
    return cmocka_run_group_tests_name("what runs begin with", tests, NULL, NULL);
}
