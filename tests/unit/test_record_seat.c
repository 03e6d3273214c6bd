/* A record that a daemon of schema 11 wrote: jobs had no seats yet, and one run waits forever. */
#include "tests/unit/record.h"

#include "daemon/store/store_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OLD_VERSION = 11 };

/* Puts the old record, changed by some SQL, in the place of a new one, and opens it. */
static void open_changed(struct record *record, const char *change)
{
    char *rows = record_read_source("tests/unit/record_011.sql");
    struct error err;
    record_open(record);
    record_make_older(record, OLD_VERSION);
    record_tamper(record, rows);
    record_tamper(record, change);
    if (store_open(record->path, "/runs", &record->store, &err) < 0)
        fail_msg("%s", err.message);
    free(rows);
}

static void open_old(struct record *record)
{
    open_changed(record, "");
}

static void new_token(void *context, char ret_token[TOKEN_LENGTH + 1])
{
    (void)context;
    (void)snprintf(ret_token, TOKEN_LENGTH + 1, "%032d", 99);
}

static struct core *load(struct record *record)
{
    struct core_config config = {.token = new_token};
    struct error err;
    assert_int_equal(store_last_ids(record->store, &config, &err), 0);
    assert_int_equal(config.last_seat, 7);
    struct core *core = core_new(&config);
    if (store_load(record->store, core, &err) < 0)
        fail_msg("%s", err.message);
    return core;
}

static void assert_token(const char *token, int number)
{
    char expected[TOKEN_LENGTH + 1];
    (void)snprintf(expected, sizeof expected, "%032d", number);
    assert_string_equal(token, expected);
}

static void the_rows_of_a_migrated_record_fit_together(void **state)
{
    struct record record;
    (void)state;
    open_old(&record);
    record_assert(&record, "SELECT count(*) FROM pragma_foreign_key_check", "0");
    record_assert(&record, "SELECT count(*) FROM job", "6");
    record_assert(&record, "SELECT address || ' ' || job_id FROM v_run ORDER BY run",
                  "1/validate#1 42,2/validate#1 43,3/validate#1 44,3/train#1 44,3/train#2 44,"
                  "4/validate#1 45,4/train#1 45");
    record_assert(&record, "SELECT kind || ' ' || target || ' ' || job FROM outbox",
                  "cancel-job 1 1,lookup 4 4,tell-next 5 5,tell-next 7 7");
    record_close(&record);
}

static void several_jobs_for_one_run_are_candidates_for_its_seat(void **state)
{
    struct record record;
    (void)state;
    open_old(&record);
    struct core *core = load(&record);
    const struct workflow *chosen = core_workflow(core, 1), *open = core_workflow(core, 2);
    const struct run *run = chosen->runs[0];
    assert_int_equal(chosen->seat_count, 1);
    assert_token(run->seat->token, 1);
    assert_ptr_equal(run->seat->allocation, chosen->allocations[1]);
    assert_ptr_equal(chosen->allocations[0]->seat, run->seat);
    assert_true(chosen->allocations[0]->is_closed);
    assert_false(seat_is_open(run));
    assert_true(seat_is_open(open->runs[0]));
    assert_true(run_is_in(open->runs[0], open->allocations[1]));
    core_free(core);
    record_close(&record);
}

static void a_guest_has_a_seat_in_the_job_of_its_host(void **state)
{
    struct record record;
    (void)state;
    open_old(&record);
    struct core *core = load(&record);
    const struct workflow *workflow = core_workflow(core, 3);
    const struct run *first = workflow->runs[0], *guest = workflow->runs[1];
    assert_int_equal(workflow->allocation_count, 1);
    assert_ptr_equal(guest->seat->allocation, first->seat->allocation);
    assert_true(seat_is_joined(guest->seat) && !seat_is_joined(first->seat));
    assert_token(guest->seat->token, 6);
    assert_int_equal(guest->seat->slot, 1);
    assert_ptr_equal(workflow->runs[2]->seat, guest->seat); /* after the requeue */
    core_free(core);
    record_close(&record);
}

static void a_run_that_goes_on_in_place_is_in_the_same_seat(void **state)
{
    struct record record;
    (void)state;
    open_old(&record);
    struct core *core = load(&record);
    const struct workflow *workflow = core_workflow(core, 4);
    assert_int_equal(workflow->run_count, 2);
    assert_ptr_equal(workflow->runs[0]->seat, workflow->runs[1]->seat);
    core_free(core);
    record_close(&record);
}

/* The shared job has started again: both phases go on, and are stored. */
static void a_workflow_of_a_migrated_record_goes_on(void **state)
{
    struct record record;
    struct core_effects effects = {0};
    struct error err;
    (void)state;
    open_old(&record);
    struct core *core = load(&record);
    struct workflow *workflow = core_workflow(core, 3);
    struct core_event event = {.kind = EV_JOB_SEEN,
                               .now_ms = record_now_ms(),
                               .workflow = workflow,
                               .allocation = workflow->allocations[0]};
    event.seen.state = CLUSTER_JOB_RUNNING;
    event.seen.nodes = "n[3-4]";
    event.seen.restarts = 1;
    core_decide(core, &event, &effects);
    assert_int_equal(workflow->runs[2]->state, RUN_STARTING);
    record_begin(&record);
    for (size_t i = 0; i < effects.count; i++)
        if (store_apply(record.store, &effects.items[i], event.now_ms, &err) < 0)
            fail_msg("%s", err.message);
    record_commit(&record);
    record_assert(&record, "SELECT nodes FROM job WHERE workflow = 3", "n[3-4]");
    record_assert(&record, "SELECT state FROM run WHERE id = 5", "starting");
    core_effects_fini(&effects);
    core_free(core);
    record_close(&record);
}

/* A job is over and its run has not ended: the old daemon died after it had looked once for the
 * outcome, and had not saved that. */
static struct core *load_silent(struct record *record)
{
    open_changed(record, "UPDATE job SET over = 1, state = 'completed', ended = 1790000006000"
                         " WHERE id = 2");
    return load(record);
}

static void assert_it_is_looked_at_and_ends(struct core *core, struct run *run)
{
    struct core_effects effects = {0};
    assert_true(core_deadline(core) <= record_now_ms());
    core_decide(core, &(struct core_event){.kind = EV_TIME, .now_ms = record_now_ms()}, &effects);
    assert_int_equal(effects.count, 1);
    assert_int_equal(effects.items[0].kind, FX_READ_OUTCOME);
    assert_ptr_equal(effects.items[0].run, run);
    core_decide(core,
                &(struct core_event){.kind = EV_RUN_SILENT,
                                     .now_ms = record_now_ms(),
                                     .workflow = run->phase->workflow,
                                     .run = run},
                &effects);
    assert_int_equal(run->outcome, OUTCOME_LOST);
    core_effects_fini(&effects);
}

static void a_migrated_run_whose_job_is_over_is_checked_again(void **state)
{
    struct record record;
    (void)state;
    struct core *core = load_silent(&record);
    struct run *run = core_workflow(core, 1)->runs[0];
    assert_it_is_looked_at_and_ends(core, run);
    assert_int_equal(run->phase->state, PHASE_QUEUED);
    core_free(core);
    record_close(&record);
}

static void a_migrated_run_can_be_cancelled(void **state)
{
    struct record record;
    struct core_effects effects = {0};
    (void)state;
    struct core *core = load_silent(&record);
    struct run *run = core_workflow(core, 1)->runs[0];
    core_decide(core,
                &(struct core_event){.kind = EV_COMMAND,
                                     .now_ms = record_now_ms(),
                                     .workflow = run->phase->workflow,
                                     .phase = run->phase,
                                     .command = COMMAND_CANCEL},
                &effects);
    assert_int_equal(run->state, RUN_STOPPING);
    assert_it_is_looked_at_and_ends(core, run);
    assert_int_equal(run->phase->state, PHASE_CANCELLED);
    core_effects_fini(&effects);
    core_free(core);
    record_close(&record);
}

/* Later schemas have words where only sentences for people said it. */
static void a_migrated_phase_knows_the_budget_that_holds_it(void **state)
{
    struct record record;
    (void)state;
    open_changed(&record, "UPDATE phase SET state = 'held', hold = 'user', reason = CASE id"
                          " WHEN 1 THEN 'held by its budget, of which $7.02 of $7 is spent'"
                          " WHEN 3 THEN 'held by this month''s budget, of which 2.10 of 1 GPU hour"
                          " is spent' ELSE 'held by anna' END WHERE id IN (1, 3, 5);"
                          "UPDATE phase SET reason = 'held by its budget, of which 3.00 of 2 hours"
                          " is spent' WHERE id IN (6, 7)"); /* one runs still, one has succeeded */
    record_assert(&record,
                  "SELECT id || ' ' || ifnull(hold_budget || ' ' || hold_amount, '') FROM phase"
                  " WHERE id IN (1, 3, 5, 6, 7)",
                  "1 workflow usd,3 month gpu_hours,5 ,6 workflow hours,7 ");
    record_close(&record);
}

/* Run 2 waits still, and run 3 has ended before its lead could report why it stopped. */
static void a_migrated_record_has_words_for_what_messages_said(void **state)
{
    struct record record;
    (void)state;
    open_changed(&record,
                 "INSERT INTO event (time, workflow, phase, run, type, from_state, to_state,"
                 " message) VALUES"
                 " (1, 1, 1, 1, 'run', 'running', 'stopping', 'until: until passed; step >= 20'),"
                 " (1, 4, 7, 6, 'run', 'running', 'stopping', 'preempted'),"
                 " (1, 4, 8, 7, 'run', 'running', 'stopping', 'hold'),"
                 " (1, 1, 1, 1, 'gate', NULL, NULL, 'gate passed: 3 checks'),"
                 " (1, 1, 1, 1, 'gate', NULL, NULL, 'gate failed: low; cannot be judged: odd'),"
                 " (1, 1, 1, 1, 'gate', NULL, NULL, 'gate failed, cannot be judged: odd'),"
                 " (1, 1, 1, 1, 'gate', NULL, NULL, 'gate failed, without data: timed'),"
                 " (1, 1, 1, 1, 'gate', NULL, NULL, 'insufficient data: the journal of n1'),"
                 " (1, 1, 1, 1, 'checkpoint', NULL, NULL, 'step 0: /step 7: /9'),"
                 " (1, 1, 1, 1, 'checkpoint', NULL, NULL, 'step 9007199254740991: /a'),"
                 " (1, 1, 1, 1, 'guard', NULL, NULL, 'step 5: too large');"
                 "UPDATE run SET state = 'ended', outcome = 'succeeded',"
                 " message = 'until passed; step >= 20' WHERE id = 3");
    record_assert(&record, "SELECT id || ' ' || ifnull(stop_reason, '') FROM run ORDER BY id",
                  "1 until,2 ,3 until,4 ,5 ,6 preempted,7 ");
    record_assert(&record, "SELECT result FROM event WHERE type = 'gate' ORDER BY id",
                  "passed,failed,failed,insufficient,incomplete");
    record_assert(&record, "SELECT count(*) FROM event WHERE type = 'gate' AND to_state > ''", "0");
    record_assert(&record, "SELECT count(*) FROM event WHERE type <> 'gate' AND result > ''", "0");
    record_assert(&record, "SELECT step FROM event WHERE step IS NOT NULL ORDER BY id",
                  "0,9007199254740991");
    record_assert(&record, "SELECT count(*) FROM sqlite_schema WHERE name = 'event_stays'", "1");
    record_close(&record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rows_of_a_migrated_record_fit_together),
        cmocka_unit_test(several_jobs_for_one_run_are_candidates_for_its_seat),
        cmocka_unit_test(a_guest_has_a_seat_in_the_job_of_its_host),
        cmocka_unit_test(a_run_that_goes_on_in_place_is_in_the_same_seat),
        cmocka_unit_test(a_workflow_of_a_migrated_record_goes_on),
        cmocka_unit_test(a_migrated_run_whose_job_is_over_is_checked_again),
        cmocka_unit_test(a_migrated_run_can_be_cancelled),
        cmocka_unit_test(a_migrated_record_has_words_for_what_messages_said),
        cmocka_unit_test(a_migrated_phase_knows_the_budget_that_holds_it),
    };
    return cmocka_run_group_tests_name("record seat", tests, NULL, NULL);
}
