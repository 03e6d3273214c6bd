/* What the core does for phases that let Slurm choose between GPUs: each type has a job, and one of
 * the jobs serves the run. */
#include "tests/unit/unit.h"

#include "tests/unit/core_world.h"

#include <stdlib.h>
#include <string.h>

/* --- The world -------------------------------------------------------------------------------- */

static int setup(void **state)
{
    core_world_setup(state);
    struct phase *phase = world_phase(*state, "validate");
    free(phase->gpu_type);
    phase->gpu_type = strdup("h200");
    phase->alternatives = strdup("h200,h100");
    return 0;
}

static struct allocation *job_of(struct world *world, const char *type)
{
    for (size_t i = world->workflow->allocation_count; i-- > 0;)
        if (text_equal(world->workflow->allocations[i]->gpu_type, type))
            return world->workflow->allocations[i];
    fail_msg("no job for %s", type);
    return NULL;
}

/* An event about the newest job for this type of GPU. */
static void happens(struct world *world, enum core_event_kind kind, const char *type)
{
    uint32_t id = text_equal(type, "h200") ? 42 : 41;
    struct allocation *allocation = job_of(world, type);
    world_step(world, (struct core_event){
                          .kind = kind, .allocation = allocation, .slurm_id = id, .message = ""});
}

static void is_seen(struct world *world, const char *type, const char *word, bool is_final)
{
    struct core_event event = {.kind = EV_JOB_SEEN, .allocation = job_of(world, type)};
    event.seen.state = (enum cluster_job_state)cluster_job_state_parse(word);
    event.seen.is_final = is_final;
    world_step(world, event);
}

/* The lead in the job for this type of GPU reports. */
static void reports(struct world *world, const char *type)
{
    world_step(world, (struct core_event){.kind = EV_RUN_STARTED,
                                          .run = world_phase(world, "validate")->run,
                                          .token = job_of(world, type)->token,
                                          .step = -1});
}

static void waits(struct world *world)
{
    world_begin(world, false);
    happens(world, EV_SUBMITTED, "h200");
    happens(world, EV_SUBMITTED, "h100");
    (void)world_trace(world);
}

/* --- The tests -------------------------------------------------------------------------------- */

static void all_alternatives_are_jobs_with_one_folder(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    assert_string_equal(world_trace(world), "validate: blocked -> queued\n"
                                            "submit validate#1 as h200\n"
                                            "submit validate#1 as h100\n");
    const struct allocation *first = job_of(world, "h200"), *other = job_of(world, "h100");
    assert_string_not_equal(first->token, other->token);
    assert_ptr_equal(other->seat, first->seat);
    assert_string_equal(first->seat->token, first->token);
}

static void the_first_job_whose_lead_reports_serves_the_run(void **state)
{
    struct world *world = *state;
    waits(world);
    is_seen(world, "h100", "running", false);
    assert_string_equal(world_trace(world), "validate#1: pending -> starting\n"
                                            "validate: queued -> active\n");
    reports(world, "h100");
    assert_string_equal(world_trace(world), "validate#1: starting -> running\n"
                                            "cancel-job validate#1 as h200\n");
    assert_ptr_equal(world_phase(world, "validate")->run->seat->allocation, job_of(world, "h100"));
    is_seen(world, "h200", "cancelled", true);
    assert_string_equal(world_trace(world), ""); /* the run goes on */
}

/* The claim decides. It does not matter which job Slurm reported first. */
static void two_running_jobs_stay_until_one_reports(void **state)
{
    struct world *world = *state;
    waits(world);
    is_seen(world, "h200", "running", false);
    is_seen(world, "h100", "running", false);
    assert_string_equal(world_trace(world), "validate#1: pending -> starting\n"
                                            "validate: queued -> active\n");
    is_seen(world, "h200", "completed", true); /* it found the claim */
    assert_string_equal(world_trace(world), "read-outcome validate#1\n");
    world_event(world, EV_RUN_SILENT, "validate"); /* the other lead is just beginning */
    assert_string_equal(world_trace(world), "");
    reports(world, "h100");
    assert_string_equal(world_trace(world), "validate#1: starting -> running\n");
}

/* The launch of one job fails. Slurm requeues that job and holds it. */
static void a_job_that_slurm_holds_leaves_the_run_to_the_other(void **state)
{
    struct world *world = *state;
    waits(world);
    struct core_event held = {.kind = EV_JOB_SEEN, .allocation = job_of(world, "h200")};
    held.seen.state = CLUSTER_JOB_PENDING;
    held.seen.restarts = 1;
    held.seen.is_stuck = true;
    world_step(world, held);
    assert_string_equal(world_trace(world), "cancel-job validate#1 as h200\n"
                                            "read-outcome validate#1\n");
    world_event(world, EV_RUN_SILENT, "validate");
    assert_string_equal(world_trace(world), "");
    is_seen(world, "h100", "running", false);
    reports(world, "h100");
    assert_string_equal(world_trace(world), "validate#1: pending -> starting\n"
                                            "validate: queued -> active\n"
                                            "validate#1: starting -> running\n");
}

static void the_other_types_stay_if_slurm_refuses_one(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    happens(world, EV_REFUSED, "h200");
    happens(world, EV_SUBMITTED, "h100");
    (void)world_trace(world);
    assert_ptr_equal(world_phase(world, "validate")->run->seat->allocation, job_of(world, "h100"));
    assert_int_equal(world_phase(world, "validate")->state, PHASE_QUEUED);
}

static void a_phase_is_held_if_slurm_refuses_all_types(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    happens(world, EV_REFUSED, "h100");
    happens(world, EV_REFUSED, "h200");
    assert_int_equal(world_phase(world, "validate")->state, PHASE_HELD);
    assert_int_equal(world_phase(world, "validate")->run->cause, CAUSE_LAUNCH);
}

static void a_job_whose_answer_comes_too_late_is_cancelled(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    happens(world, EV_SUBMITTED, "h100");
    happens(world, EV_UNSURE, "h200");
    reports(world, "h100");
    (void)world_trace(world);
    happens(world, EV_SUBMITTED, "h200"); /* the look-up has found the job */
    assert_string_equal(world_trace(world), "cancel-job validate#1 as h200\n");
}

static void an_alternative_that_is_gone_is_not_submitted_again(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    happens(world, EV_SUBMITTED, "h100");
    happens(world, EV_UNSURE, "h200");
    reports(world, "h100");
    (void)world_trace(world);
    happens(world, EV_UNKNOWN, "h200");
    assert_string_equal(world_trace(world), "");
    assert_true(job_of(world, "h200")->ended);
}

static void a_cancelled_phase_cancels_all_its_jobs(void **state)
{
    struct world *world = *state;
    waits(world);
    world_command(world, "validate", COMMAND_CANCEL);
    assert_string_equal(world_trace(world), "cancel-job validate#1 as h200\n"
                                            "cancel-job validate#1 as h100\n");
    is_seen(world, "h100", "cancelled", true);
    world_event(world, EV_RUN_SILENT, "validate");
    assert_int_equal(world_phase(world, "validate")->state, PHASE_QUEUED);
    is_seen(world, "h200", "cancelled", true);
    world_event(world, EV_RUN_SILENT, "validate");
    assert_int_equal(world_phase(world, "validate")->state, PHASE_CANCELLED);
}

/* Slurm has forgotten that it cancelled the job. */
static void a_superseded_job_that_comes_back_is_cancelled_again(void **state)
{
    struct world *world = *state;
    waits(world);
    world_command(world, "validate", COMMAND_CANCEL);
    is_seen(world, "h200", "cancelled", true);
    (void)world_trace(world);
    is_seen(world, "h200", "pending", false);
    assert_string_equal(world_trace(world), "warning validate#1\n"
                                            "cancel-job validate#1 as h200\n");
}

/* Both jobs are over, and the run waits for what its folder says. Then the first job is back. */
static void a_job_that_comes_back_to_a_waiting_run_is_the_one_of_its_seat(void **state)
{
    struct world *world = *state;
    waits(world);
    is_seen(world, "h200", "failed", true);
    is_seen(world, "h100", "failed", true);
    const struct run *run = world_phase(world, "validate")->run;
    assert_int_not_equal(run->state, RUN_ENDED);
    assert_ptr_equal(run->seat->allocation, job_of(world, "h100"));
    is_seen(world, "h200", "running", false);
    assert_ptr_equal(run->seat->allocation, job_of(world, "h200"));
    assert_false(run->seat->allocation->ended);
}

static void the_next_run_chooses_its_type_again(void **state)
{
    struct world *world = *state;
    waits(world);
    reports(world, "h100");
    world_ended(world, "validate", OUTCOME_FAILED, CAUSE_NODE_FAIL, 10);
    (void)world_trace(world);
    assert_int_equal(world->workflow->allocation_count, 4);
    assert_string_equal(world_phase(world, "validate")->run->seat->allocation->gpu_type, "h200");
}

static void a_phase_promoted_in_place_has_the_type_of_the_job(void **state)
{
    struct world *world = *state;
    waits(world); /* production wants h100 */
    is_seen(world, "h100", "running", false);
    reports(world, "h100");
    world_ended(world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 10);
    world_judged(world, "validate", GATE_PASSED);
    assert_true(world_phase(world, "production")->run->in_place);
    (void)world_trace(world);
    world_wait(world, 1000);
    assert_string_equal(world_trace(world), ""); /* the job of the other type disturbs nobody */
}

static void a_phase_with_another_type_is_submitted(void **state)
{
    struct world *world = *state;
    waits(world);
    is_seen(world, "h200", "running", false);
    reports(world, "h200");
    world_ended(world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 10);
    world_judged(world, "validate", GATE_PASSED);
    assert_false(world_phase(world, "production")->run->in_place);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, core_world_teardown)
    const struct CMUnitTest tests[] = {
        TEST(all_alternatives_are_jobs_with_one_folder),
        TEST(the_first_job_whose_lead_reports_serves_the_run),
        TEST(two_running_jobs_stay_until_one_reports),
        TEST(a_job_that_slurm_holds_leaves_the_run_to_the_other),
        TEST(the_other_types_stay_if_slurm_refuses_one),
        TEST(a_phase_is_held_if_slurm_refuses_all_types),
        TEST(a_job_whose_answer_comes_too_late_is_cancelled),
        TEST(an_alternative_that_is_gone_is_not_submitted_again),
        TEST(a_cancelled_phase_cancels_all_its_jobs),
        TEST(a_superseded_job_that_comes_back_is_cancelled_again),
        TEST(a_job_that_comes_back_to_a_waiting_run_is_the_one_of_its_seat),
        TEST(the_next_run_chooses_its_type_again),
        TEST(a_phase_promoted_in_place_has_the_type_of_the_job),
        TEST(a_phase_with_another_type_is_submitted),
    };
    return cmocka_run_group_tests_name("core_candidate", tests, NULL, NULL);
}
