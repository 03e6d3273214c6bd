/* Commands of people about phases: what each command does, and where it is accepted. */
#include "tests/unit/unit.h"

#include "tests/unit/core_world.h"

#include "lib/error.h"
#include "lib/text.h"

#include <stdlib.h>
#include <string.h>

static void cancelling_climbs_the_ladder(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_command(world, "validate", COMMAND_CANCEL);
    assert_string_equal(world_trace(world), "validate#1: running -> stopping\n"
                                            "tell-stop validate#1\n");
    world_wait(world, (90 + 30) * 1000);
    assert_string_equal(world_trace(world), "cancel-job validate#1\n");
    world_seen(world, "validate", "cancelled", true);
    world_wait(world, 5000);
    (void)world_trace(world);
    world_event(world, EV_RUN_SILENT, "validate");
    assert_string_equal(world_trace(world), "validate#1: stopping -> ended\n"
                                            "seal validate#1\n"
                                            "validate: active -> cancelled\n"
                                            "production: blocked -> skipped\n");
    assert_int_equal(workflow_state(world->workflow), WORKFLOW_CANCELLED);
}

static void a_cancel_before_the_answer_to_a_submission_counts(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_command(world, "validate", COMMAND_CANCEL);
    (void)world_trace(world);
    world_event(world, EV_SUBMITTED, "validate");
    assert_string_equal(world_trace(world), "validate#1: submitting -> pending\n"
                                            "cancel-job validate#1\n");
}

/* The run is cancelled, but its workflow is not. */
static void the_history_calls_a_held_run_held(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_command(world, "validate", COMMAND_HOLD);
    world_ended(world, "validate", OUTCOME_CANCELLED, CAUSE_NONE, 120);
    const char *said = NULL;
    for (size_t i = 0; i < world->effects.count; i++) {
        const struct core_effect *effect = &world->effects.items[i];
        if (effect->kind == FX_HISTORY && effect->run)
            said = effect->message;
    }
    assert_string_equal(said, "held");
}

static void hold_stops_a_run_and_release_resumes_it(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_command(world, "validate", COMMAND_HOLD);
    assert_non_null(strstr(world_trace(world), "tell-stop validate#1\n"));
    assert_string_equal(world_phase(world, "validate")->reason, "held by anna");
    world_ended(world, "validate", OUTCOME_CANCELLED, CAUSE_NONE, 100);
    assert_non_null(strstr(world_trace(world), "validate: active -> held\n"));
    assert_string_equal(world_phase(world, "validate")->reason, "held by anna");
    world_command(world, "validate", COMMAND_RELEASE);
    assert_string_equal(world_trace(world), "validate: held -> queued\n"
                                            "submit validate#2\n");
}

/* The request to cancel the job may reach Slurm long after the run has succeeded, because it waits
 * for a controller that is away. */
static void the_next_run_does_not_begin_in_a_job_that_is_being_cancelled(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_event(world, EV_SUBMITTED, "validate");
    world_command(world, "validate", COMMAND_HOLD);
    assert_non_null(strstr(world_trace(world), "cancel-job validate#1\n"));
    world_runs(world, "validate");
    world_ended(world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 100);
    world_judged(world, "validate", GATE_PASSED);
    assert_non_null(strstr(world_trace(world), "submit production#1\n"));
}

/* The allocation costs money and counts at limits until Slurm says that it is over. */
static void the_end_of_a_job_is_looked_up_while_the_next_run_works(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    struct allocation *before = world_phase(world, "validate")->run->seat->allocation;
    assert_false(core_is_busy(world->core, world->now_ms));
    world_command(world, "validate", COMMAND_HOLD);
    world_ended(world, "validate", OUTCOME_CANCELLED, CAUSE_NONE, 100);
    world_command(world, "validate", COMMAND_RELEASE);
    world_runs(world, "validate");
    assert_true(!before->ended && world_phase(world, "validate")->run->seat->allocation != before);
    assert_true(core_is_busy(world->core, world->now_ms));
    before->ended = true;
    assert_false(core_is_busy(world->core, world->now_ms));
}

static void a_workflow_submitted_held_waits_for_release(void **state)
{
    struct world *world = *state;
    world_begin(world, true);
    assert_string_equal(world_trace(world), "validate: blocked -> held\n");
    world_command(world, "validate", COMMAND_RELEASE);
    assert_string_equal(world_trace(world), "validate: held -> queued\n"
                                            "submit validate#1\n");
}

/* The run has to stop first. The budget is known until the phase goes on. */
static void a_phase_knows_the_budget_that_holds_it(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    struct phase *phase = world_phase(world, "validate");
    const struct core_event hold = {.kind = EV_COMMAND,
                                    .phase = phase,
                                    .command = COMMAND_HOLD,
                                    .budget = BUDGET_WORKFLOW,
                                    .amount = AMOUNT_GPU_HOURS};
    world_step(world, hold);
    assert_int_equal(phase->state, PHASE_ACTIVE);
    assert_int_equal(phase->hold_budget, BUDGET_WORKFLOW);
    world_ended(world, "validate", OUTCOME_CANCELLED, CAUSE_NONE, 100);
    assert_int_equal(phase->state, PHASE_HELD);
    assert_int_equal(phase->hold_budget, BUDGET_WORKFLOW);
    assert_int_equal(phase->hold_amount, AMOUNT_GPU_HOURS);
    world_command(world, "validate", COMMAND_RELEASE);
    assert_int_equal(phase->hold_budget, BUDGET_NONE);
    world_runs(world, "validate");
    world_step(world, hold);
    world_ended(world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 100); /* before it was stopped */
    assert_int_equal(phase->hold_budget, BUDGET_NONE);
}

static void a_denied_command_says_why(void **state)
{
    struct world *world = *state;
    struct error err;
    world_begin(world, true);
    struct phase *phase = world_phase(world, "validate");
    assert_true(core_command_check(phase, COMMAND_PROMOTE, &err) < 0);
    assert_string_equal(err.message, "cannot promote 1/validate: it is held (user); only a "
                                     "phase held by its gate can be promoted");
    (void)world_trace(world);
    world_command(world, "validate", COMMAND_PROMOTE);
    assert_string_equal(world_trace(world), "");
}

/* A phase with a checkpoint at 500 whose gate failed at 1000. */
static struct phase *phase_judged(struct world *world)
{
    world_begin(world, false);
    world_runs(world, "validate");
    struct phase *phase = world_phase(world, "validate");
    world_step(world, (struct core_event){
                          .kind = EV_CHECKPOINT, .run = phase->run, .path = "/500", .step = 500});
    world_ended(world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 1000);
    world_judged(world, "validate", GATE_FAILED);
    (void)world_trace(world);
    return phase;
}

static void a_person_chooses_where_a_run_begins(void **state)
{
    static const struct {
        enum phase_command command;
        const char *path;
        int64_t step;
        const char *begins;
    } rows[] = {
        {COMMAND_RETRY, NULL, 0, NULL},       /* the same steps would get the same verdict */
        {COMMAND_RETRY, "", 0, NULL},         /* --from start */
        {COMMAND_RETRY, "/200", 200, "/200"}, /* --from 200 */
        {COMMAND_RESUME, NULL, 0, "/500"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *made;
        assert_int_equal(core_world_setup(&made), 0);
        struct world *world = made;
        struct phase *phase = phase_judged(world);
        world_step(world, (struct core_event){.kind = EV_COMMAND,
                                              .phase = phase,
                                              .command = rows[i].command,
                                              .path = rows[i].path,
                                              .step = rows[i].step});
        assert_string_equal(world_trace(world), "validate: held -> queued\n"
                                                "submit validate#2\n");
        if (rows[i].begins)
            assert_string_equal(phase->run->resume_path, rows[i].begins);
        else
            assert_null(phase->run->resume_path);
        assert_int_equal(phase->is_chosen, rows[i].path && rows[i].path[0]);
        assert_int_equal(phase->is_anew, !rows[i].begins);
        world_runs(world, "validate");
        assert_false(phase->is_chosen);
        assert_false(phase->is_anew);
        assert_int_equal(core_world_teardown(&made), 0);
    }
}

/* If one command advises another, the other command is accepted. */
static void release_and_retry_do_not_point_at_each_other(void **state)
{
    struct world *world = *state;
    static const struct {
        enum phase_hold hold;
        const char *release, *retry;
    } rows[] = {
        {HOLD_USER, "", "release it"},
        {HOLD_MANUAL, "promote it", "promote it or cancel it"},
        {HOLD_GATE, "promote it or retry it", ""},
        {HOLD_FAILURE, "retry it", ""},
        {HOLD_PROGRESS, "retry it", ""},
    };
    struct phase *phase = phase_judged(world);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct error release = {0}, retry = {0};
        phase->state = PHASE_HELD;
        phase->hold = rows[i].hold;
        (void)core_command_check(phase, COMMAND_RELEASE, &release);
        (void)core_command_check(phase, COMMAND_RETRY, &retry);
        assert_true(text_ends(release.message, rows[i].release));
        assert_true(text_ends(retry.message, rows[i].retry));
        assert_int_equal(release.code == 0, !rows[i].release[0]);
        assert_int_equal(retry.code == 0, !rows[i].retry[0]);
    }
}

static void a_command_that_is_refused_after_a_failure_advises_to_retry(void **state)
{
    struct world *world = *state;
    static const struct {
        enum phase_state state;
        enum phase_hold hold;
    } rows[] = {{PHASE_HELD, HOLD_FAILURE},
                {PHASE_HELD, HOLD_PROGRESS},
                {PHASE_FAILED, HOLD_NONE},
                {PHASE_CANCELLED, HOLD_NONE}};
    static const enum phase_command commands[] = {COMMAND_PROMOTE, COMMAND_RELEASE, COMMAND_RESUME};
    world_begin(world, false);
    struct phase *phase = world_phase(world, "validate");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        phase->state = rows[i].state;
        phase->hold = rows[i].hold;
        assert_int_equal(core_command_check(phase, COMMAND_RETRY, NULL), 0);
        for (size_t at = 0; at < sizeof commands / sizeof commands[0]; at++) {
            struct error err;
            assert_true(core_command_check(phase, commands[at], &err) < 0);
            assert_true(text_ends(err.message, "retry it"));
        }
    }
}

/* In each state of a phase, and with each command, the check answers as the table says. */
static void each_command_is_accepted_where_it_makes_sense(void **state)
{
    struct world *world = *state;
    static const struct {
        enum phase_state state;
        enum phase_hold hold;
        const char *taken; /* the first letters of promote, hold, release, resume, cancel, retry */
    } rows[] = {
        {PHASE_BLOCKED, HOLD_NONE, "-h--c-"},  {PHASE_QUEUED, HOLD_NONE, "-h--c-"},
        {PHASE_ACTIVE, HOLD_NONE, "-h--c-"},   {PHASE_DECIDING, HOLD_NONE, "----c-"},
        {PHASE_HELD, HOLD_USER, "--lsc-"},     {PHASE_HELD, HOLD_MANUAL, "p---c-"},
        {PHASE_HELD, HOLD_GATE, "p--scy"},     {PHASE_HELD, HOLD_FAILURE, "---scy"},
        {PHASE_HELD, HOLD_PROGRESS, "---scy"}, {PHASE_SUCCEEDED, HOLD_NONE, "------"},
        {PHASE_FAILED, HOLD_NONE, "---s-y"},   {PHASE_CANCELLED, HOLD_NONE, "---s-y"},
        {PHASE_SKIPPED, HOLD_NONE, "------"},
    };
    static const char letters[COMMAND_COUNT + 1] = "phlscy";
    struct phase *phase = phase_judged(world);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char taken[COMMAND_COUNT + 1] = "";
        phase->state = rows[i].state;
        phase->hold = rows[i].hold;
        for (int command = 0; command < COMMAND_COUNT; command++)
            taken[command] = core_command_check(phase, (enum phase_command)command, NULL) == 0
                                 ? letters[command]
                                 : '-';
        assert_string_equal(taken, rows[i].taken);
    }
    struct error err;
    free(phase->checkpoint_path);
    phase->checkpoint_path = NULL;
    assert_true(core_command_check(phase, COMMAND_RESUME, &err) < 0);
}

static void a_phase_has_succeeded_and_is_active(void **state)
{
    static const struct {
        enum phase_state state;
        const char *message;
    } rows[] = {
        {PHASE_ACTIVE, "cannot retry 1/validate: it is active"},
        {PHASE_SUCCEEDED, "cannot retry 1/validate: it has succeeded"},
        {PHASE_SKIPPED, "cannot retry 1/validate: it is skipped"},
    };
    struct world *world = *state;
    struct phase *phase = world_phase(world, "validate");
    struct error err;
    world_begin(world, true);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        phase->state = rows[i].state;
        assert_true(core_command_check(phase, COMMAND_RETRY, &err) < 0);
        assert_string_equal(err.message, rows[i].message);
    }
    phase->state = PHASE_FAILED;
    assert_true(core_command_check(phase, COMMAND_HOLD, &err) < 0);
    assert_string_equal(err.message, "cannot hold 1/validate: it has failed");
}

static void a_phase_without_a_gate_waits_because_its_run_succeeded(void **state)
{
    struct world *world = *state;
    struct phase *phase = world_phase(world, "validate");
    phase->promote_manual = true;
    world_begin(world, false);
    world_runs(world, "validate");
    world_ended(world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 1000);
    world_step(world,
               (struct core_event){
                   .kind = EV_JUDGED, .phase = phase, .gate = GATE_PASSED, .is_ungated = true});
    assert_string_equal(phase->reason, "its run succeeded; waiting for `promote`");
    world_command(world, "validate", COMMAND_PROMOTE);
    assert_string_equal(phase->reason, "promoted by anna");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(a_phase_has_succeeded_and_is_active),
        WORLD_TEST(a_phase_without_a_gate_waits_because_its_run_succeeded),
        WORLD_TEST(cancelling_climbs_the_ladder),
        WORLD_TEST(a_cancel_before_the_answer_to_a_submission_counts),
        WORLD_TEST(the_history_calls_a_held_run_held),
        WORLD_TEST(hold_stops_a_run_and_release_resumes_it),
        WORLD_TEST(the_next_run_does_not_begin_in_a_job_that_is_being_cancelled),
        WORLD_TEST(the_end_of_a_job_is_looked_up_while_the_next_run_works),
        WORLD_TEST(a_workflow_submitted_held_waits_for_release),
        WORLD_TEST(a_phase_knows_the_budget_that_holds_it),
        WORLD_TEST(a_denied_command_says_why),
        cmocka_unit_test(a_person_chooses_where_a_run_begins),
        WORLD_TEST(release_and_retry_do_not_point_at_each_other),
        WORLD_TEST(a_command_that_is_refused_after_a_failure_advises_to_retry),
        WORLD_TEST(each_command_is_accepted_where_it_makes_sense),
    };
    return cmocka_run_group_tests_name("commands", tests, NULL, NULL);
}
