/* Writing to the record and reading it again: the model, the outbox, and what belongs to runs. */
#include "tests/unit/record.h"

#include "daemon/store/store_private.h"
#include "lib/expr/check.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fixed_token(void *context, char ret_token[TOKEN_LENGTH + 1])
{
    (void)context;
    memset(ret_token, 'a', TOKEN_LENGTH);
    ret_token[TOKEN_LENGTH] = '\0';
}

static struct core *new_core(void)
{
    struct core_config config = {.token = fixed_token};
    return core_new(&config);
}

/* --- The model -------------------------------------------------------------------------------- */

#define SET(array, text) (void)snprintf(array, sizeof(array), "%s", text)

/* Sets every member that can change to a value other than 0. */
static void fill(struct record *record, struct workflow *workflow)
{
    struct phase *phase = &workflow->phases[0];
    workflow->ended_ms = 1790000099000;
    phase->state = PHASE_HELD;
    phase->hold = HOLD_PROGRESS;
    SET(phase->reason, "three resumptions without a new step");
    phase->hold_budget = BUDGET_MONTH;
    phase->hold_amount = AMOUNT_HOURS;
    phase->checkpoint_path = strdup("/out/step_500.ckpt");
    phase->checkpoint_step = 500;
    phase->is_chosen = phase->is_anew = phase->is_overridden = true;
    for (int cause = 1; cause < CAUSE_COUNT; cause++)
        phase->failures[cause] = (unsigned)cause;
    phase->losses = 2;
    phase->stalls = 3;
    phase->remedies = xcalloc(2, sizeof *phase->remedies);
    phase->remedies[0] = (struct remedy){strdup("oom"), REMEDY_CHECKPOINT, 2, 1};
    phase->remedies[1] = (struct remedy){strdup("grad_cap"), REMEDY_PREVIOUS, 1, 1};
    phase->remedy_count = 2;
    phase->remedy = &phase->remedies[1];
    struct run *run = record_add_run(record, phase, 31, 41);
    run->state = RUN_ENDED;
    run->outcome = OUTCOME_FAILED;
    run->cause = CAUSE_NODE_FAIL;
    run->stop_reason = STOP_UNTIL;
    SET(run->message, "node n2 \"failed\"");
    run->in_place = run->has_begun = run->is_remedied = run->is_let_go = true;
    run->wish = WISH_HOLD;
    run->resume_path = strdup("/out/step_400.ckpt");
    run->resume_step = 400;
    run->last_step = INT64_C(1) << 40;
    run->exit_code = -3;
    run->signal = 9;
    run->submitted_ms = 1790000000001;
    run->started_ms = 1790000000002;
    run->ended_ms = 1790000000003;
    run->silent_since_ms = 1790000000004;
    run->told_ms = 1790000000005;
    struct allocation *allocation = run->seat->allocation;
    allocation->slurm_id = UINT32_MAX;
    allocation->ended = true;
    allocation->state = CLUSTER_JOB_NODE_FAIL;
    SET(allocation->reason, "NodeDown");
    SET(allocation->nodes, "n[1-2]");
    SET(allocation->gpu_type, "h200");
    allocation->time_s = 7200;
    allocation->restarts = 3;
    allocation->submitted_ms = 1790000000006;
    allocation->started_ms = 1790000000007;
    allocation->ended_ms = 1790000000008;
    allocation->absent_since_ms = 1790000000009;
    record_save_run(record, run);
    record_add_remedy(record, run->id);
    struct core_effect tell_end = {.kind = FX_TELL_END, workflow, phase, run, allocation};
    record_apply(record, &tell_end);
    struct core_effect end_again = {.kind = FX_CANCEL_JOB, workflow, phase, run, allocation};
    record_apply(record, &end_again);
    allocation->is_back = true;                                 /* as in the outbox */
    struct run *newest = record_add_run(record, phase, 32, 42); /* it has hardly any values */
    struct core_effect cancel = {
        .kind = FX_CANCEL_JOB, workflow, phase, newest, newest->seat->allocation};
    record_apply(record, &cancel);
    newest->seat->allocation->is_closed = true; /* as in the outbox */
    record_apply(record, &(struct core_effect){.kind = FX_SAVE_WORKFLOW, .workflow = workflow});
}

/* Compares all bytes, so that a new member of the model must be stored, too. Before that, what each
 * pointer points at is compared, and the pointer is set to NULL. */
#define ASSERT_SAME_TEXT(a, b)                                                                     \
    do {                                                                                           \
        assert_true(!(a) == !(b));                                                                 \
        assert_string_equal((a) ? (a) : "", (b) ? (b) : "");                                       \
        (a) = (b) = NULL;                                                                          \
    } while (0)

static void assert_same_phase(const struct phase *first, const struct phase *second)
{
    struct phase a, b;
    memcpy(&a, first, sizeof a);
    memcpy(&b, second, sizeof b);
    assert_int_equal(a.after_count, b.after_count);
    for (size_t i = 0; i < a.after_count; i++)
        assert_int_equal(a.after[i], b.after[i]);
    assert_int_equal(a.run ? a.run->id : 0, b.run ? b.run->id : 0);
    assert_int_equal(a.remedy_count, b.remedy_count);
    for (size_t i = 0; i < a.remedy_count; i++) {
        assert_string_equal(a.remedies[i].cause, b.remedies[i].cause);
        assert_int_equal(a.remedies[i].resume, b.remedies[i].resume);
        assert_int_equal(a.remedies[i].times, b.remedies[i].times);
        assert_int_equal(a.remedies[i].used, b.remedies[i].used);
    }
    assert_int_equal(a.remedy ? a.remedy - a.remedies : -1, b.remedy ? b.remedy - b.remedies : -1);
    a.remedies = b.remedies = a.remedy = b.remedy = NULL;
    ASSERT_SAME_TEXT(a.name, b.name);
    ASSERT_SAME_TEXT(a.gpu_type, b.gpu_type);
    ASSERT_SAME_TEXT(a.alternatives, b.alternatives);
    ASSERT_SAME_TEXT(a.slurm_options, b.slurm_options);
    ASSERT_SAME_TEXT(a.checkpoint_path, b.checkpoint_path);
    a.workflow = b.workflow = NULL;
    a.after = b.after = NULL;
    a.run = b.run = NULL;
    assert_int_equal(a.beside ? a.beside->id : 0, b.beside ? b.beside->id : 0);
    a.beside = b.beside = NULL;
    assert_memory_equal(&a, &b, sizeof a);
}

static void assert_same_run(const struct run *first, const struct run *second)
{
    struct run a, b;
    memcpy(&a, first, sizeof a);
    memcpy(&b, second, sizeof b);
    assert_int_equal(a.phase->id, b.phase->id);
    assert_int_equal(a.seat->id, b.seat->id);
    ASSERT_SAME_TEXT(a.resume_path, b.resume_path);
    a.phase = b.phase = NULL;
    a.seat = b.seat = NULL;
    assert_memory_equal(&a, &b, sizeof a);
}

static void assert_same_allocation(const struct allocation *first, const struct allocation *second)
{
    struct allocation a, b;
    memcpy(&a, first, sizeof a);
    memcpy(&b, second, sizeof b);
    assert_int_equal(a.seat->id, b.seat->id);
    a.seat = b.seat = NULL;
    a.workflow = b.workflow = NULL;
    assert_memory_equal(&a, &b, sizeof a);
}

static void assert_same_seat(const struct seat *first, const struct seat *second)
{
    struct seat a, b;
    memcpy(&a, first, sizeof a);
    memcpy(&b, second, sizeof b);
    assert_int_equal(a.allocation->id, b.allocation->id);
    a.allocation = b.allocation = NULL;
    a.workflow = b.workflow = NULL;
    assert_memory_equal(&a, &b, sizeof a);
}

static void assert_same_workflow(const struct workflow *a, const struct workflow *b)
{
    assert_int_equal(a->id, b->id);
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->submitted_ms, b->submitted_ms);
    assert_int_equal(a->ended_ms, b->ended_ms);
    assert_int_equal(a->phase_count, b->phase_count);
    assert_int_equal(a->run_count, b->run_count);
    assert_int_equal(a->allocation_count, b->allocation_count);
    for (size_t i = 0; i < a->phase_count; i++) {
        assert_same_phase(&a->phases[i], &b->phases[i]);
        assert_ptr_equal(b->phases[i].workflow, b);
    }
    for (size_t i = 0; i < a->run_count; i++)
        assert_same_run(a->runs[i], b->runs[i]);
    for (size_t i = 0; i < a->allocation_count; i++)
        assert_same_allocation(a->allocations[i], b->allocations[i]);
    assert_int_equal(a->seat_count, b->seat_count);
    for (size_t i = 0; i < a->seat_count; i++)
        assert_same_seat(a->seats[i], b->seats[i]);
}

static void every_member_of_the_model_is_restored(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    struct workflow *workflow = record_workflow(7), *loaded;
    record_open(&record);
    record_insert(&record, workflow);
    assert_int_equal(store_load_workflow(record.store, 7, &loaded, &err), 0);
    assert_same_workflow(workflow, loaded);
    workflow_free(loaded);
    fill(&record, workflow);
    record_reopen(&record);
    assert_int_equal(store_load_workflow(record.store, 7, &loaded, &err), 0);
    assert_same_workflow(workflow, loaded);
    workflow_free(loaded);
    assert_int_equal(store_load_workflow(record.store, 8, &loaded, &err), -ENOENT);
    assert_string_equal(err.message, "no workflow 8");
    workflow_free(workflow);
    record_close(&record);
}

static void phases_side_by_side_are_restored(void **state)
{
    (void)state;
    struct record record;
    struct workflow *workflow = record_workflow(7), *loaded;
    struct phase *first = &workflow->phases[0], *second = &workflow->phases[1];
    second->beside = first;
    record_open(&record);
    record_insert(&record, workflow);
    struct run *host = record_add_run(&record, first, 11, 21);
    struct seat *seat = workflow_add_seat(workflow);
    seat->id = 22;
    seat->allocation = host->seat->allocation;
    seat->slot = 1;
    (void)snprintf(seat->token, sizeof seat->token, "%032d", 22);
    struct run *guest = workflow_add_run(workflow, second);
    guest->id = 12;
    guest->attempt = ++second->attempts;
    guest->seat = seat;
    record_save_run(&record, guest);
    record_reopen(&record);
    assert_int_equal(store_load_workflow(record.store, 7, &loaded, NULL), 0);
    assert_same_workflow(workflow, loaded);
    assert_ptr_equal(loaded->phases[1].beside, &loaded->phases[0]);
    assert_true(seat_is_joined(loaded->runs[1]->seat));
    workflow_free(loaded);
    workflow_free(workflow);
    record_close(&record);
}

static void every_word_of_the_core_can_be_stored(void **state)
{
    (void)state;
    struct record record;
    struct workflow *workflow = record_workflow(7), *loaded;
    record_open(&record);
    record_insert(&record, workflow);
    struct phase *phase = &workflow->phases[0];
    struct run *run = record_add_run(&record, phase, 1, 1);
    for (int i = 0; i < 16; i++) {
        phase->state = (enum phase_state)(i % PHASE_STATE_COUNT);
        phase->hold = (enum phase_hold)(i % HOLD_COUNT);
        run->state = (enum run_state)(i % RUN_STATE_COUNT);
        run->outcome = (enum run_outcome)(i % OUTCOME_COUNT);
        run->cause = (enum run_cause)(i % CAUSE_COUNT);
        run->wish = (enum run_wish)(i % (WISH_HOLD + 1));
        record_save_run(&record, run);
        assert_int_equal(store_load_workflow(record.store, 7, &loaded, NULL), 0);
        assert_same_workflow(workflow, loaded);
        workflow_free(loaded);
    }
    workflow_free(workflow);
    record_close(&record);
}

static void a_start_loads_live_workflows_and_the_last_ids(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    struct workflow *workflows[3];
    struct core_config config;
    record_open(&record);
    assert_int_equal(store_last_ids(record.store, &config, &err), 0);
    assert_int_equal(config.last_workflow + config.last_phase + config.last_run + config.last_job,
                     0);
    for (unsigned i = 0; i < 3; i++) {
        workflows[i] = record_workflow(i + 1);
        record_insert(&record, workflows[i]);
        record_add_run(&record, &workflows[i]->phases[0], 10 + i, 20 + i);
        workflows[i]->ended_ms = i > 0 ? record_now_ms() : 0; /* 1 lives, 2 and 3 are over ... */
        struct core_effect save = {.kind = FX_SAVE_WORKFLOW, .workflow = workflows[i]};
        record_apply(&record, &save);
    }
    struct run *run = workflows[2]->phases[0].run; /* ... but the job of 3 is still to be ended */
    struct core_effect cancel = {
        .kind = FX_CANCEL_JOB, workflows[2], run->phase, run, run->seat->allocation};
    record_apply(&record, &cancel);
    run->seat->allocation->is_closed = true; /* as in the outbox */

    struct core *core = new_core();
    assert_int_equal(store_load(record.store, core, &err), 0);
    assert_int_equal(core_workflow_count(core), 2);
    assert_same_workflow(workflows[0], core_workflow(core, 1));
    assert_same_workflow(workflows[2], core_workflow(core, 3));
    assert_int_equal(store_last_ids(record.store, &config, &err), 0);
    assert_int_equal(config.last_workflow, 3);
    assert_int_equal(config.last_phase, 301);
    assert_int_equal(config.last_run, 12);
    assert_int_equal(config.last_job, 22);
    core_free(core);
    for (int i = 0; i < 3; i++)
        workflow_free(workflows[i]);
    record_close(&record);
}

/* --- The outbox and history ------------------------------------------------------------------- */

static int list_effect(void *context, const struct core_effect *effect)
{
    assert_false(effect->is_done);
    text_addf(context, "%s %llu %llu %llu %lld\n", core_effect_rows[effect->kind].name,
              effect->phase ? (unsigned long long)effect->phase->id : 0,
              effect->run ? (unsigned long long)effect->run->id : 0,
              effect->allocation ? (unsigned long long)effect->allocation->id : 0,
              (long long)effect->due_ms);
    return 0;
}

static void assert_outbox(struct record *record, const char *expected)
{
    struct text text = {0};
    struct error err;
    struct core *core = new_core();
    assert_int_equal(store_load(record->store, core, &err), 0);
    assert_int_equal(store_outbox(record->store, core, list_effect, &text, &err), 0);
    assert_string_equal(text_string(&text), expected);
    text_fini(&text);
    core_free(core);
}

static void the_outbox_keeps_pending_effects_once_and_in_order(void **state)
{
    (void)state;
    struct record record;
    struct workflow *workflow = record_workflow(1);
    record_open(&record);
    record_insert(&record, workflow);
    struct phase *phase = &workflow->phases[0];
    struct run *run = record_add_run(&record, phase, 10, 20);
    struct core_effect submit = {.kind = FX_SUBMIT, workflow, phase, run, run->seat->allocation};
    struct core_effect read = {
        .kind = FX_READ_OUTCOME, workflow, phase, run, run->seat->allocation};
    struct core_effect judge = {.kind = FX_JUDGE, workflow, phase};
    assert_outbox(&record, "");
    record_apply(&record, &judge);
    record_apply(&record, &submit);
    record_apply(&record, &read);
    record_apply(&record, &read); /* again: it is stored once */
    submit.due_ms = 5000;         /* again, but later */
    record_apply(&record, &submit);
    record_reopen(&record);
    assert_outbox(&record, "judge 100 0 0 0\nsubmit 100 10 20 5000\nread-outcome 100 10 20 0\n");
    judge.is_done = read.is_done = true;
    record_apply(&record, &judge);
    record_apply(&record, &read);
    assert_outbox(&record, "submit 100 10 20 5000\n");
    submit.is_done = true;
    record_apply(&record, &submit);
    record_apply(&record, &submit); /* it does not exist any more, which is fine */
    assert_outbox(&record, "");
    workflow_free(workflow);
    record_close(&record);
}

static int stop_at_once(void *context, const struct core_effect *effect)
{
    (void)effect;
    (*(int *)context)++;
    return -ECANCELED;
}

static void a_callback_can_end_the_list(void **state)
{
    (void)state;
    struct record record;
    struct workflow *workflow = record_workflow(1);
    record_open(&record);
    record_insert(&record, workflow);
    for (unsigned i = 0; i < 2; i++) {
        struct core_effect judge = {.kind = FX_JUDGE, workflow, &workflow->phases[i]};
        record_apply(&record, &judge);
    }
    struct core *core = new_core();
    int calls = 0;
    assert_int_equal(store_load(record.store, core, NULL), 0);
    for (int i = 1; i <= 2; i++) { /* the statement is ready again */
        assert_int_equal(store_outbox(record.store, core, stop_at_once, &calls, NULL), -ECANCELED);
        assert_int_equal(calls, i);
    }
    core_free(core);
    workflow_free(workflow);
    record_close(&record);
}

static void the_history_has_every_move_and_never_changes(void **state)
{
    (void)state;
    struct record record;
    struct workflow *workflow = record_workflow(1);
    record_open(&record);
    record_insert(&record, workflow);
    struct phase *phase = &workflow->phases[0];
    struct run *run = record_add_run(&record, phase, 10, 20);
    struct core_effect effects[] = {
        {.kind = FX_HISTORY, workflow, phase, .message = "submitted"},
        {.kind = FX_HISTORY, workflow, phase, .from = "queued", .to = "active"},
        {.kind = FX_HISTORY, workflow, phase, run, .from = "pending", .to = "running"},
    };
    for (int i = 0; i < 3; i++)
        record_apply(&record, &effects[i]);
    record_assert(&record,
                  "SELECT concat_ FROM (SELECT event || ' ' || address || ' ' || type || ' ' ||"
                  " ifnull(from_state, '-') || ' ' || ifnull(to_state, '-') || ' ' ||"
                  " ifnull(message, '-') AS concat_ FROM v_event)",
                  "1 1/validate phase - - submitted,2 1/validate phase queued active -,"
                  "3 1/validate#1 run pending running -");
    record_begin(&record);
    assert_int_equal(store_exec(record.store, "UPDATE event SET message = ''", "", NULL), -EINVAL);
    store_rollback(record.store);
    workflow_free(workflow);
    record_close(&record);
}

static void a_promotion_says_who_decided_and_how(void **state)
{
    (void)state;
    struct record record;
    struct workflow *workflow = record_workflow(1);
    record_open(&record);
    record_insert(&record, workflow);
    struct phase *phase = &workflow->phases[0];
    record_add_run(&record, phase, 10, 20);
    struct run *next = record_add_run(&record, &workflow->phases[1], 11, 21);
    next->in_place = true;
    struct core_effect by_gate = {.kind = FX_PROMOTION, workflow, phase, next};
    record_apply(&record, &by_gate);
    next->in_place = false;
    struct core_effect ungated = {.kind = FX_PROMOTION, workflow, phase, next, .is_ungated = true};
    record_apply(&record, &ungated);
    struct matrix matrix = {.phase = phase};
    phase->members = &matrix;
    record_apply(&record, &by_gate);
    phase->members = NULL;
    struct core_effect by_person = {.kind = FX_PROMOTION, workflow, phase, next};
    SET(by_person.message, "anna");
    record_apply(&record, &by_person);
    record_assert(&record,
                  "SELECT address || ' ' || next || ' ' || decided_by || ' ' || ifnull(who, '-') ||"
                  " ' ' || way || ' ' || run FROM v_promotion",
                  "1/validate train gate - in_place 10,1/validate train gate - submitted 10,"
                  "1/validate train gate - submitted 10,1/validate train user anna submitted 10");
    record_assert(&record, "SELECT address || ' ' || message FROM v_event",
                  "1/validate#1 by its gate: train goes on in place,"
                  "1/validate#1 without a gate: train goes on in a new job,"
                  "1/validate#1 by its choice: train goes on in a new job,"
                  "1/validate#1 by anna: train goes on in a new job");
    workflow_free(workflow);
    record_close(&record);
}

/* --- What gates and checkpoints were ---------------------------------------------------------- */

static int list_checkpoint(void *context, const struct store_checkpoint *checkpoint)
{
    text_addf(context, "%llu %s %lld %lld %lld", (unsigned long long)checkpoint->run,
              checkpoint->path, (long long)checkpoint->step, (long long)checkpoint->bytes,
              (long long)checkpoint->time_ms);
    text_addf(context, "%s%s\n", checkpoint->paths ? " " : "",
              json_string_value(json_array_get(checkpoint->paths, 0))
                  ? json_string_value(json_array_get(checkpoint->paths, 0))
                  : "");
    return 0;
}

static void checkpoints_of_all_runs_come_newest_first(void **state)
{
    (void)state;
    struct record record;
    struct text text = {0};
    struct workflow *workflow = record_workflow(1);
    record_open(&record);
    record_insert(&record, workflow);
    record_add_run(&record, &workflow->phases[0], 10, 20);
    record_add_run(&record, &workflow->phases[0], 11, 21);
    record_add_run(&record, &workflow->phases[1], 12, 22);
    json_t *paths = json_pack("[s, s]", "/out/2", "/out/2b");
    const struct store_checkpoint checkpoints[] = {
        {10, "/out/1", 100, -1, 1000, NULL, false, false},
        {10, "/out/2", 200, 5, 2000, NULL, false, false},
        {11, "/out/2", 200, 6, 3000, paths, false, false},
        {10, "/out/1", 100, 4, 1500, NULL, false, false}, /* again, with its size */
        {12, "/other/9", 900, 0, 4000, NULL, false, false},
    };
    record_begin(&record);
    for (size_t i = 0; i < sizeof checkpoints / sizeof *checkpoints; i++)
        assert_int_equal(store_checkpoint_add(record.store, &checkpoints[i], NULL), 0);
    json_decref(paths);
    record_commit(&record);
    assert_int_equal(store_checkpoints(record.store, 100, list_checkpoint, &text, NULL), 0);
    assert_string_equal(
        text_string(&text),
        "11 /out/2 200 6 3000 /out/2\n10 /out/2 200 5 2000\n10 /out/1 100 4 1500\n");
    text_fini(&text);
    workflow_free(workflow);
    record_close(&record);
}

static void checkpoints_after_a_failed_guard_are_suspect(void **state)
{
    (void)state;
    struct record record;
    struct workflow *workflow = record_workflow(1);
    record_open(&record);
    record_insert(&record, workflow);
    record_add_run(&record, &workflow->phases[0], 10, 20);
    record_add_run(&record, &workflow->phases[0], 11, 21);
    const struct store_checkpoint before[] = {{.run = 10, .path = "/out/1", .step = 100},
                                              {.run = 10, .path = "/out/2", .step = 200},
                                              {.run = 11, .path = "/other/2", .step = 200}};
    const struct store_checkpoint after[] = {
        {.run = 10, .path = "/out/3", .step = 300},
        {.run = 10, .path = "/out/0", .step = 50, .is_suspect = true},
        {.run = 11, .path = "/out/2", .step = 200}};
    record_begin(&record);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(store_checkpoint_add(record.store, &before[i], NULL), 0);
    assert_int_equal(store_run_suspect(record.store, 10, 250, 9000, NULL), 0);
    assert_int_equal(store_run_suspect(record.store, 10, 150, 8000, NULL), 0);
    assert_int_equal(store_run_suspect(record.store, 10, 160, 9500, NULL), 0);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(store_checkpoint_add(record.store, &after[i], NULL), 0);
    record_commit(&record);
    record_assert(&record, "SELECT run || ' ' || path FROM checkpoint WHERE suspect",
                  "10 /out/0,10 /out/2,10 /out/3");
    record_assert(&record,
                  "SELECT suspect_step || ' ' || suspected FROM run WHERE suspected NOT NULL",
                  "150 8000");
    workflow_free(workflow);
    record_close(&record);
}

static void a_gate_that_is_judged_again_has_only_its_newest_verdicts(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    struct workflow *workflow = record_workflow(1);
    record_open(&record);
    record_insert(&record, workflow);
    record_add_run(&record, &workflow->phases[0], 10, 20);
    struct verdict verdict = {.name = (char *)"falling",
                              .outcome = CHECK_FAILED,
                              .has_value = true,
                              .value = 1.5,
                              .bounds = (char *)"below 0",
                              .reason = (char *)"1.5 is not below 0"};
    json_t *failed = verdict_to_json(&verdict);
    verdict.outcome = CHECK_PASSED;
    verdict.value = -1;
    json_t *list = json_pack("[o]", failed), *passed = json_pack("[o]", verdict_to_json(&verdict));
    record_begin(&record);
    assert_int_equal(store_guard_add(record.store, 10, failed, 500, &err), 0);
    assert_int_equal(store_verdicts_set(record.store, 10, list, 1000, &err), 0);
    assert_int_equal(store_verdicts_set(record.store, 10, passed, 2000, &err), 0);
    record_commit(&record);
    record_assert(&record,
                  "SELECT kind || ' ' || name || ' ' || outcome || ' ' || value || ' ' || bounds"
                  " FROM v_verdict",
                  "guard falling failed 1.5 below 0,gate falling passed -1.0 below 0");
    json_decref(list);
    json_decref(passed);
    workflow_free(workflow);
    record_close(&record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_member_of_the_model_is_restored),
        cmocka_unit_test(phases_side_by_side_are_restored),
        cmocka_unit_test(every_word_of_the_core_can_be_stored),
        cmocka_unit_test(a_start_loads_live_workflows_and_the_last_ids),
        cmocka_unit_test(the_outbox_keeps_pending_effects_once_and_in_order),
        cmocka_unit_test(a_callback_can_end_the_list),
        cmocka_unit_test(the_history_has_every_move_and_never_changes),
        cmocka_unit_test(a_promotion_says_who_decided_and_how),
        cmocka_unit_test(checkpoints_of_all_runs_come_newest_first),
        cmocka_unit_test(checkpoints_after_a_failed_guard_are_suspect),
        cmocka_unit_test(a_gate_that_is_judged_again_has_only_its_newest_verdicts),
    };
    return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
