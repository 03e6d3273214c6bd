/* Two phases that share an allocation: which is submitted, and what happens to each. */
#include "tests/unit/unit.h"

#include "tests/unit/core_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `production` runs beside `validate`. Both wait for no other phase. */
static void beside_init(struct world *world)
{
    world_init(world);
    struct phase *production = world_phase(world, "production");
    production->after_count = 0;
    production->beside = world_phase(world, "validate");
    world_begin(world, false);
}

/* Both phases train, in job 41. */
static void beside_run(struct world *world)
{
    beside_init(world);
    world_runs(world, "validate");
    world_event(world, EV_RUN_STARTED, "production");
    (void)world_trace(world);
}

static void expect(struct world *world, const char *trace)
{
    assert_string_equal(world_trace(world), trace);
}

static void two_phases_side_by_side_share_one_submission(void **state)
{
    (void)state;
    struct world world;
    beside_init(&world);
    expect(&world, "validate: blocked -> queued\n"
                   "submit validate#1\n"
                   "production: blocked -> queued\n"
                   "tell-next production#1\n");
    const struct seat *first = world_phase(&world, "validate")->run->seat;
    const struct seat *joined = world_phase(&world, "production")->run->seat;
    assert_ptr_equal(joined->allocation, first->allocation);
    assert_string_equal(first->token, first->allocation->token);
    assert_string_not_equal(joined->token, first->token);
    assert_true(seat_is_joined(joined) && !seat_is_joined(first));
    world_event(&world, EV_SUBMITTED, "validate");
    expect(&world, "validate#1: submitting -> pending\n"
                   "production#1: submitting -> pending\n");
    world_seen(&world, "validate", "running", false);
    expect(&world, "validate#1: pending -> starting\n"
                   "production#1: pending -> starting\n"
                   "validate: queued -> active\n"
                   "production: queued -> active\n");
    world_fini(&world);
}

static void a_refusal_holds_both_phases(void **state)
{
    (void)state;
    struct world world;
    beside_init(&world);
    (void)world_trace(&world);
    world_event(&world, EV_REFUSED, "validate");
    expect(&world, "validate#1: submitting -> ended\n"
                   "seal validate#1\n"
                   "production#1: submitting -> ended\n"
                   "seal production#1\n"
                   "validate: queued -> held\n"
                   "production: queued -> held\n");
    world_fini(&world);
}

static void at_a_limit_both_phases_wait_for_one_submission(void **state)
{
    (void)state;
    struct world world;
    beside_init(&world);
    (void)world_trace(&world);
    world_event(&world, EV_LIMITED, "validate");
    expect(&world, "submit validate#1\n");
    world_event(&world, EV_UNSURE, "validate");
    expect(&world, "lookup validate#1\n");
    /* Also for a phase that nobody needs any more, as long as the other one is needed. */
    world_command(&world, "validate", COMMAND_CANCEL);
    world_event(&world, EV_UNKNOWN, "validate");
    expect(&world, "read-outcome validate#1\nread-outcome production#1\n");
    world_event(&world, EV_RUN_SILENT, "validate");
    expect(&world, "submit validate#1\n");
    world_command(&world, "production", COMMAND_CANCEL);
    world_event(&world, EV_LIMITED, "validate");
    expect(&world, "validate#1: submitting -> ended\n"
                   "seal validate#1\n"
                   "production#1: submitting -> ended\n"
                   "seal production#1\n"
                   "validate: queued -> cancelled\n"
                   "production: queued -> cancelled\n");
    world_fini(&world);
}

static void a_queued_job_is_cancelled_when_no_phase_needs_it(void **state)
{
    (void)state;
    struct world world;
    beside_init(&world);
    world_event(&world, EV_SUBMITTED, "validate");
    (void)world_trace(&world);
    world_command(&world, "validate", COMMAND_CANCEL);
    expect(&world, "tell-stop validate#1\n");
    world_command(&world, "production", COMMAND_HOLD);
    expect(&world, "cancel-job production#1\n");
    world_seen(&world, "validate", "cancelled", true);
    expect(&world, "read-outcome validate#1\nread-outcome production#1\n");
    world_event(&world, EV_RUN_SILENT, "production");
    world_event(&world, EV_RUN_SILENT, "validate");
    expect(&world, "production#1: pending -> ended\n"
                   "seal production#1\n"
                   "production: queued -> held\n"
                   "validate#1: pending -> ended\n"
                   "seal validate#1\n"
                   "validate: queued -> cancelled\n");
    world_fini(&world);
}

static void a_run_that_does_not_stop_does_not_harm_the_other(void **state)
{
    (void)state;
    struct world world;
    beside_run(&world);
    world_command(&world, "production", COMMAND_CANCEL);
    expect(&world, "production#1: running -> stopping\ntell-stop production#1\n");
    world_wait(&world, 24L * 3600 * 1000);
    expect(&world, "");
    /* The other phase has the usual time to stop, counted from its own command. */
    world_command(&world, "validate", COMMAND_CANCEL);
    expect(&world, "validate#1: running -> stopping\ntell-stop validate#1\n");
    world_wait(&world, 1000);
    expect(&world, "");
    world_wait(&world, 1000L * (world_phase(&world, "validate")->stop_s + 30));
    expect(&world, "cancel-job validate#1\n");
    world_fini(&world);
}

static void a_phase_that_ends_leaves_the_allocation_to_the_other(void **state)
{
    (void)state;
    struct world world;
    beside_run(&world);
    world_ended(&world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 100);
    world_judged(&world, "validate", GATE_PASSED);
    expect(&world, "validate#1: running -> ended\n"
                   "validate: active -> deciding\n"
                   "judge validate\n"
                   "validate: deciding -> succeeded\n"
                   "tell-end validate#1\n");
    /* Slurm may not know a job for a moment. That is not the end of the job. */
    world_event(&world, EV_JOB_ABSENT, "validate");
    expect(&world, "read-outcome production#1\n");
    assert_false(world_phase(&world, "production")->run->seat->allocation->ended);
    world_ended(&world, "production", OUTCOME_FAILED, CAUSE_EXIT, 50);
    expect(&world, "production#1: running -> ended\n"
                   "tell-end production#1\n"
                   "production: active -> held\n");
    world_fini(&world);
}

/* The state of the run beside it when a phase begins again, and whether the phase joins that
 * run. */
static void a_phase_that_begins_again_joins_the_run_beside_it(void **state)
{
    static const struct {
        const char *what;
        bool stops, ends, has_time, has_shape, joins;
    } rows[] = {
        {"it trains", false, false, true, true, true},
        {"it is being stopped", true, false, true, true, false},
        {"it has ended", false, true, true, true, false},
        {"its time is nearly over", false, false, false, true, false},
        {"its job has another shape", false, false, true, false, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct world world;
        beside_run(&world);
        world_seen(&world, "validate", "running", false);
        world_ended(&world, "production", OUTCOME_FAILED, CAUSE_EXIT, 50);
        if (rows[i].stops)
            world_command(&world, "validate", COMMAND_HOLD);
        if (rows[i].ends)
            world_ended(&world, "validate", OUTCOME_FAILED, CAUSE_EXIT, 50);
        if (!rows[i].has_time)
            world.now_ms += 1000L * (world_phase(&world, "validate")->time_s - 100);
        if (!rows[i].has_shape)
            world_phase(&world, "production")->gpus_per_node++;
        (void)world_trace(&world);
        world_command(&world, "production", COMMAND_RETRY);
        const char *expected = rows[i].joins ? "production: held -> queued\n"
                                               "tell-next production#2\n"
                                               "production#2: submitting -> pending\n"
                                               "production#2: pending -> starting\n"
                                               "production: queued -> active\n"
                                             : "production: held -> queued\n"
                                               "submit production#2\n";
        if (strcmp(world_trace(&world), expected) != 0)
            fail_msg("when %s", rows[i].what);
        world_fini(&world);
    }
}

static void both_phases_continue_in_a_requeued_job(void **state)
{
    (void)state;
    struct world world;
    beside_run(&world);
    const char *const phases[] = {"production", "validate"};
    for (size_t i = 0; i < 2; i++) {
        char expected[200];
        world_step(&world, (struct core_event){.kind = EV_RUN_ENDED,
                                               .run = world_phase(&world, phases[i])->run,
                                               .outcome = OUTCOME_PREEMPTED,
                                               .step = 70,
                                               .requeues = true});
        (void)snprintf(expected, sizeof expected,
                       "%s#1: running -> ended\n%s: active -> queued\ntell-next %s#2\n", phases[i],
                       phases[i], phases[i]);
        expect(&world, expected);
    }
    struct core_event waits = {
        .kind = EV_JOB_SEEN, .allocation = world_phase(&world, "validate")->run->seat->allocation};
    waits.seen.state = CLUSTER_JOB_PENDING;
    waits.seen.is_waiting = true;
    waits.seen.restarts = 1;
    world_step(&world, waits);
    expect(&world, "begin-job validate#2\n"
                   "read-outcome production#2\n"
                   "read-outcome validate#2\n");
    world_seen(&world, "validate", "running", false);
    expect(&world, "production#2: pending -> starting\n"
                   "validate#2: pending -> starting\n"
                   "production: queued -> active\n"
                   "validate: queued -> active\n");
    world_fini(&world);
}

static void both_phases_continue_in_one_new_job_if_theirs_is_gone(void **state)
{
    (void)state;
    struct world world;
    beside_run(&world);
    world_ended(&world, "production", OUTCOME_PREEMPTED, CAUSE_NONE, 70);
    world_seen(&world, "validate", "preempted", true);
    world_ended(&world, "validate", OUTCOME_PREEMPTED, CAUSE_NONE, 70);
    /* The first phase joined what was still left, which has failed. */
    world_event(&world, EV_RUN_SILENT, "production");
    world_wait(&world, 6000);
    world_event(&world, EV_RUN_SILENT, "production");
    const struct run *validate = world_phase(&world, "validate")->run;
    const struct run *production = world_phase(&world, "production")->run;
    assert_false(seat_is_joined(validate->seat));
    assert_ptr_equal(production->seat->allocation, validate->seat->allocation);
    assert_true(seat_is_joined(production->seat));
    assert_int_equal(world_phase(&world, "production")->failures[CAUSE_LAUNCH], 0);
    world_fini(&world);
}

static void no_phase_is_promoted_in_a_shared_allocation(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    struct phase *production = world_phase(&world, "production");
    struct phase beside = {.name = strdup("other"), .index = 2, .beside = production};
    struct workflow *workflow = world.workflow;
    workflow->phases = realloc(workflow->phases, 3 * sizeof *workflow->phases);
    assert_non_null(workflow->phases);
    production = &workflow->phases[1];
    workflow->phases[2] = beside;
    workflow->phases[2].workflow = workflow;
    workflow->phases[2].beside = production;
    workflow->phases[2].after = calloc(1, sizeof(unsigned));
    workflow->phases[2].after_count = 1;
    workflow->phases[2].slurm_options = strdup(production->slurm_options);
    workflow->phases[2].nodes = production->nodes;
    workflow->phases[2].gpus_per_node = production->gpus_per_node;
    workflow->phases[2].time_s = production->time_s;
    workflow->phase_count = 3;
    world_begin(&world, false);
    world_runs(&world, "validate");
    world_seen(&world, "validate", "running", false);
    world_ended(&world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 100);
    (void)world_trace(&world);
    world_judged(&world, "validate", GATE_PASSED);
    expect(&world, "validate: deciding -> succeeded\n"
                   "production: blocked -> queued\n"
                   "submit production#1\n"
                   "promotion of validate by its gate\n"
                   "other: blocked -> queued\n"
                   "tell-next other#1\n"
                   "promotion of validate by its gate\n"
                   "tell-end validate#1\n");
    world_fini(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_phases_side_by_side_share_one_submission),
        cmocka_unit_test(a_refusal_holds_both_phases),
        cmocka_unit_test(at_a_limit_both_phases_wait_for_one_submission),
        cmocka_unit_test(a_queued_job_is_cancelled_when_no_phase_needs_it),
        cmocka_unit_test(a_run_that_does_not_stop_does_not_harm_the_other),
        cmocka_unit_test(a_phase_that_ends_leaves_the_allocation_to_the_other),
        cmocka_unit_test(a_phase_that_begins_again_joins_the_run_beside_it),
        cmocka_unit_test(both_phases_continue_in_a_requeued_job),
        cmocka_unit_test(both_phases_continue_in_one_new_job_if_theirs_is_gone),
        cmocka_unit_test(no_phase_is_promoted_in_a_shared_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
