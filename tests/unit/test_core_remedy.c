/* What the core does about failures that have a remedy. */
#include "tests/unit/unit.h"

#include "tests/unit/core_world.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- The world -------------------------------------------------------------------------------- */

static void add_remedy(struct world *world, const char *cause, unsigned times,
                       enum remedy_resume resume)
{
    struct phase *phase = world_phase(world, "validate");
    phase->remedies = realloc(phase->remedies, (phase->remedy_count + 1) * sizeof(struct remedy));
    assert_non_null(phase->remedies);
    phase->remedies[phase->remedy_count++] =
        (struct remedy){.cause = strdup(cause), .times = times, .resume = resume};
}

static void begins(struct world *world)
{
    world_begin(world, false);
    world_event(world, EV_SUBMITTED, "validate");
    world_seen(world, "validate", "running", false);
    world_event(world, EV_RUN_STARTED, "validate");
    (void)world_trace(world);
}

/* Ends the newest run by this cause, stopped by `guard` (or NULL). */
static void fails(struct world *world, enum run_cause cause, const char *guard)
{
    world_step(world, (struct core_event){.kind = EV_RUN_ENDED,
                                          .run = world_phase(world, "validate")->run,
                                          .outcome = OUTCOME_FAILED,
                                          .cause = cause,
                                          .checks = guard,
                                          .step = 10,
                                          .ended_ms = world->now_ms});
}

static void checkpoint(struct world *world, const char *path, int64_t at)
{
    world_step(world, (struct core_event){.kind = EV_CHECKPOINT,
                                          .run = world_phase(world, "validate")->run,
                                          .path = path,
                                          .step = at});
}

/* The judge has computed the remedy. The phase asks for `gpus` from now on. */
static void remedied(struct world *world, unsigned gpus, const char *path, int64_t at)
{
    struct world revision;
    world_init(&revision);
    revision.workflow->phases[0].gpus_per_node = gpus;
    revision.workflow->phases[1].time_s = 7200;
    world_step(world, (struct core_event){.kind = EV_REMEDIED,
                                          .phase = world_phase(world, "validate"),
                                          .revision = revision.workflow,
                                          .path = path,
                                          .step = at,
                                          .message = "batch 32 → 16"});
    workflow_free(revision.workflow);
    revision.workflow = NULL;
    world_fini(&revision);
}

/* --- Claims ----------------------------------------------------------------------------------- */

static void a_remedied_phase_runs_again_in_its_allocation(void **state)
{
    struct world *world = *state;
    add_remedy(world, "oom", 2, REMEDY_CHECKPOINT);
    begins(world);
    checkpoint(world, "/out/100", 100);
    fails(world, CAUSE_OOM, NULL);
    assert_string_equal(world_trace(world), "validate#1: running -> ended\n"
                                            "validate: active -> deciding\n"
                                            "remedy validate#1\n");
    remedied(world, 8, NULL, 0);
    assert_string_equal(world_trace(world), "validate: deciding -> queued\n"
                                            "tell-next validate#2\n");
    const struct phase *phase = world_phase(world, "validate");
    assert_string_equal(phase->reason, "remedy oom 1 of 2: batch 32 → 16");
    assert_string_equal(phase->run->resume_path, "/out/100");
    assert_true(world->workflow->runs[0]->is_remedied);
    /* A phase that has not run yet takes over the changes that concern it. */
    assert_int_equal(world_phase(world, "production")->time_s, 7200);
}

static void gpus_without_a_type_keep_the_allocation(void **state)
{
    struct world *world = *state, revision;
    struct phase *phase = world_phase(world, "validate");
    free(phase->gpu_type);
    phase->gpu_type = NULL;
    add_remedy(world, "oom", 1, REMEDY_CHECKPOINT);
    begins(world);
    fails(world, CAUSE_OOM, NULL);
    world_init(&revision);
    free(revision.workflow->phases[0].gpu_type);
    revision.workflow->phases[0].gpu_type = NULL;
    world_step(world, (struct core_event){
                          .kind = EV_REMEDIED, .phase = phase, .revision = revision.workflow});
    assert_true(phase->run->in_place);
    workflow_free(revision.workflow);
    world_fini(&revision);
}

static void more_gpus_need_a_new_submission(void **state)
{
    struct world *world = *state;
    add_remedy(world, "oom", 1, REMEDY_CHECKPOINT);
    begins(world);
    fails(world, CAUSE_OOM, NULL);
    (void)world_trace(world);
    remedied(world, 16, NULL, 0);
    assert_string_equal(world_trace(world), "tell-end validate#1\n"
                                            "validate: deciding -> queued\n"
                                            "submit validate#2\n");
    assert_int_equal(world_phase(world, "validate")->run->seat->allocation->gpus_per_node, 16);
}

static void a_run_goes_elsewhere_if_the_node_may_be_to_blame(void **state)
{
    struct world *world = *state;
    add_remedy(world, "hang", 1, REMEDY_CHECKPOINT);
    begins(world);
    fails(world, CAUSE_HANG, NULL);
    (void)world_trace(world);
    remedied(world, 8, NULL, 0);
    assert_string_equal(world_trace(world), "tell-end validate#1\n"
                                            "validate: deciding -> queued\n"
                                            "submit validate#2\n");
}

static void remedies_are_taken_in_order_and_then_a_person_is_asked(void **state)
{
    struct world *world = *state;
    const struct phase *phase = world_phase(world, "validate");
    add_remedy(world, "oom", 2, REMEDY_CHECKPOINT);
    add_remedy(world, "nan", 1, REMEDY_START);
    add_remedy(world, "oom", 1, REMEDY_START);
    static const struct {
        enum run_cause cause;
        unsigned used[3];
    } rows[] = {
        {CAUSE_OOM, {1, 0, 0}},
        {CAUSE_NAN, {1, 1, 0}},
        {CAUSE_OOM, {2, 1, 0}},
        {CAUSE_OOM, {2, 1, 1}},
    };
    begins(world);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fails(world, rows[i].cause, NULL);
        for (size_t j = 0; j < 3; j++)
            assert_int_equal(phase->remedies[j].used, rows[i].used[j]);
        remedied(world, 8, NULL, 0);
        world_event(world, EV_RUN_STARTED, "validate");
    }
    assert_int_equal(phase->attempts, 5);
    fails(world, CAUSE_OOM, NULL);
    assert_int_equal(phase->state, PHASE_HELD);
    assert_int_equal(phase->hold, HOLD_FAILURE);
    assert_non_null(strstr(phase->reason, "its remedies are used up"));
    /* A retry by a person gives none of the remedies back. */
    world_command(world, "validate", COMMAND_RETRY);
    world_runs(world, "validate");
    fails(world, CAUSE_OOM, NULL);
    assert_int_equal(phase->state, PHASE_HELD);
}

static void retries_of_the_cause_come_after_its_remedies(void **state)
{
    struct world *world = *state;
    const struct phase *phase = world_phase(world, "validate");
    add_remedy(world, "node_fail", 1, REMEDY_CHECKPOINT);
    begins(world);
    fails(world, CAUSE_NODE_FAIL, NULL);
    remedied(world, 8, NULL, 0);
    world_runs(world, "validate");
    fails(world, CAUSE_NODE_FAIL, NULL);
    assert_int_equal(phase->state, PHASE_QUEUED);
    assert_int_equal(phase->failures[CAUSE_NODE_FAIL], 1);
}

static void the_remedy_chooses_where_the_next_run_begins(void **state)
{
    static const struct {
        enum remedy_resume resume;
        const char *previous, *expected;
    } rows[] = {
        {REMEDY_CHECKPOINT, NULL, "/out/200"},
        {REMEDY_START, NULL, NULL},
        {REMEDY_PREVIOUS, "/out/100", "/out/100"},
        {REMEDY_PREVIOUS, NULL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct world world;
        world_init(&world);
        add_remedy(&world, "nan", 1, rows[i].resume);
        begins(&world);
        checkpoint(&world, "/out/100", 100);
        checkpoint(&world, "/out/200", 200);
        fails(&world, CAUSE_NAN, NULL);
        remedied(&world, 8, rows[i].previous, 100);
        struct phase *phase = world_phase(&world, "validate");
        if (rows[i].expected)
            assert_string_equal(phase->run->resume_path, rows[i].expected);
        else
            assert_null(phase->run->resume_path);
        /* Later runs do not go back beyond it, either. */
        world_event(&world, EV_RUN_STARTED, "validate");
        world_ended(&world, "validate", OUTCOME_PREEMPTED, CAUSE_NONE, 210);
        assert_int_equal(phase->attempts, 3);
        if (rows[i].expected)
            assert_string_equal(phase->run->resume_path, rows[i].expected);
        else
            assert_null(phase->run->resume_path);
        world_fini(&world);
    }
}

static void the_remedy_of_a_guard_comes_first(void **state)
{
    struct world *world = *state;
    add_remedy(world, "exit", 1, REMEDY_CHECKPOINT);
    add_remedy(world, "grad_cap", 1, REMEDY_START);
    begins(world);
    fails(world, CAUSE_GUARD, "grad_cap");
    assert_ptr_equal(world_phase(world, "validate")->remedy,
                     &world_phase(world, "validate")->remedies[1]);
    remedied(world, 8, NULL, 0);
    world_event(world, EV_RUN_STARTED, "validate");
    fails(world, CAUSE_GUARD, "pace"); /* another guard, which has no remedy */
    assert_int_equal(world_phase(world, "validate")->state, PHASE_HELD);
}

static void a_failed_check_of_the_gate_is_a_cause(void **state)
{
    struct world *world = *state;
    struct phase *phase = world_phase(world, "validate");
    add_remedy(world, "refinement", 1, REMEDY_CHECKPOINT);
    struct core_event judged = {
        .kind = EV_JUDGED, .phase = phase, .gate = GATE_FAILED, .checks = "order, refinement"};
    begins(world);
    world_ended(world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 1000);
    (void)world_trace(world);
    world_step(world, judged);
    assert_string_equal(world_trace(world), "remedy validate#1\n");
    assert_int_equal(phase->state, PHASE_DECIDING);
    world_step(world, judged); /* reported twice */
    assert_string_equal(world_trace(world), "");
    remedied(world, 8, NULL, 0);
    assert_string_equal(world_trace(world), "validate: deciding -> queued\n"
                                            "tell-next validate#2\n");
    world_event(world, EV_RUN_STARTED, "validate");
    world_ended(world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 5000);
    world_step(world, judged);
    assert_int_equal(phase->hold, HOLD_GATE);
}

static void a_gate_without_data_has_no_remedy(void **state)
{
    struct world *world = *state;
    add_remedy(world, "refinement", 1, REMEDY_CHECKPOINT);
    begins(world);
    world_ended(world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 1000);
    world_judged(world, "validate", GATE_INSUFFICIENT);
    assert_int_equal(world_phase(world, "validate")->state, PHASE_HELD);
}

static void an_impossible_remedy_holds_the_phase(void **state)
{
    struct world *world = *state;
    struct phase *phase = world_phase(world, "validate");
    add_remedy(world, "oom", 2, REMEDY_CHECKPOINT);
    begins(world);
    fails(world, CAUSE_OOM, NULL);
    world_step(world, (struct core_event){
                          .kind = EV_REMEDIED, .phase = phase, .message = "tp 8: too many GPUs"});
    assert_int_equal(phase->state, PHASE_HELD);
    assert_int_equal(phase->hold, HOLD_FAILURE);
    assert_string_equal(phase->reason, "remedy oom 1 of 2 is impossible: tp 8: too many GPUs");
}

static void a_phase_that_is_cancelled_meanwhile_stays_cancelled(void **state)
{
    struct world *world = *state;
    struct phase *phase = world_phase(world, "validate");
    add_remedy(world, "oom", 1, REMEDY_CHECKPOINT);
    begins(world);
    fails(world, CAUSE_OOM, NULL);
    world_command(world, "validate", COMMAND_CANCEL);
    assert_int_equal(phase->state, PHASE_CANCELLED);
    assert_null(phase->remedy);
    remedied(world, 16, NULL, 0);
    assert_int_equal(phase->state, PHASE_CANCELLED);
    assert_int_equal(phase->gpus_per_node, 8);
    assert_int_equal(phase->attempts, 1);
}

static void a_hold_comes_before_a_remedy(void **state)
{
    struct world *world = *state;
    struct phase *phase = world_phase(world, "validate");
    add_remedy(world, "oom", 1, REMEDY_CHECKPOINT);
    begins(world);
    world_command(world, "validate", COMMAND_HOLD);
    fails(world, CAUSE_OOM, NULL);
    assert_int_equal(phase->state, PHASE_HELD);
    assert_int_equal(phase->remedies[0].used, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, core_world_setup, core_world_teardown)
        TEST(a_remedied_phase_runs_again_in_its_allocation),
        TEST(gpus_without_a_type_keep_the_allocation),
        TEST(more_gpus_need_a_new_submission),
        TEST(a_run_goes_elsewhere_if_the_node_may_be_to_blame),
        TEST(remedies_are_taken_in_order_and_then_a_person_is_asked),
        TEST(retries_of_the_cause_come_after_its_remedies),
        cmocka_unit_test(the_remedy_chooses_where_the_next_run_begins),
        TEST(the_remedy_of_a_guard_comes_first),
        TEST(a_failed_check_of_the_gate_is_a_cause),
        TEST(a_gate_without_data_has_no_remedy),
        TEST(an_impossible_remedy_holds_the_phase),
        TEST(a_phase_that_is_cancelled_meanwhile_stays_cancelled),
        TEST(a_hold_comes_before_a_remedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
