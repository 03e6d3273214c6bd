/* Matrices: a phase whose members run, and which decides on them when they are through.
 *
 * Members are phases like others. The matrix never runs: it is blocked while they do, and decides
 * when all of them have come to an end. Who goes on to the next rung, or is the best, is worked out
 * by whoever has their metrics (FX_JUDGE), and comes as a choice. */
#include "daemon/core/step.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool phase_is_member(const struct phase *phase, const struct phase *matrix)
{
    return phase->matrix == matrix;
}

/* --- Starting --------------------------------------------------------------------------------- */

/* The first member that waits for nothing but a lane; NULL: none. */
static struct phase *matrix_next(const struct phase *matrix)
{
    struct workflow *workflow = matrix->workflow;
    for (size_t i = 0; i < matrix->index; i++) {
        struct phase *member = &workflow->phases[i];
        if (phase_is_member(member, matrix) && member->state == PHASE_BLOCKED &&
            phase_is_ready(member))
            return member;
    }
    return NULL;
}

bool matrix_hand_over(struct step *step, struct phase *member)
{
    struct phase *matrix = member->matrix, *next;
    if (!matrix || matrix->lanes == 0 || matrix->state != PHASE_BLOCKED)
        return false;
    next = matrix_next(matrix);
    if (!next || !phase_fits(next, member->run, step->now_ms))
        return false;
    (void)phase_start_in_seat(step, next, member->run, RUN_STARTING, "in place");
    return true;
}

bool matrix_keeps(const struct phase *member)
{
    const struct phase *matrix = member->matrix;
    const struct workflow *workflow = member->workflow;
    if (!matrix || matrix->lanes == 0 || matrix->is_parallel || matrix->state != PHASE_BLOCKED)
        return false;
    for (size_t i = 0; i < matrix->index; i++)
        if (phase_is_member(&workflow->phases[i], matrix) &&
            !phase_state_is_final(workflow->phases[i].state))
            return false;
    return true;
}

struct run *matrix_donor(const struct phase *matrix)
{
    const struct workflow *workflow = matrix->workflow;
    struct run *donor = NULL;
    bool is_serial = matrix->lanes > 0 && !matrix->is_parallel;
    for (size_t i = 0; is_serial && i < matrix->index; i++) {
        const struct phase *member = &workflow->phases[i];
        struct run *run = phase_is_member(member, matrix) ? member->run : NULL;
        if (run && run->state == RUN_ENDED && !run->is_let_go && !run->seat->allocation->ended &&
            seat_run(workflow, run->seat) == run && (!donor || run->ended_ms > donor->ended_ms))
            donor = run;
    }
    return donor;
}

void matrix_let_go(struct step *step, struct phase *matrix)
{
    struct run *donor = matrix_donor(matrix);
    if (donor)
        phase_let_go(step, donor->phase);
}

/* --- Choosing --------------------------------------------------------------------------------- */

static int score_compare(const void *a, const void *b, bool is_min)
{
    const struct core_score *left = a, *right = b;
    if (left->is_left != right->is_left)
        return left->is_left ? -1 : 1;
    if (left->value > right->value)
        return is_min ? 1 : -1;
    if (left->value < right->value)
        return is_min ? -1 : 1;
    if (isnan(left->value) != isnan(right->value)) /* where nothing is measured, all are */
        return isnan(left->value) ? 1 : -1;
    return left->member->index < right->member->index ? -1 : 1;
}

static int score_compare_max(const void *a, const void *b)
{
    return score_compare(a, b, false);
}

static int score_compare_min(const void *a, const void *b)
{
    return score_compare(a, b, true);
}

size_t core_choose(struct core_score *scores, size_t count, bool is_min, double cut)
{
    size_t left = 0;
    qsort(scores, count, sizeof *scores, is_min ? score_compare_min : score_compare_max);
    while (left < count && scores[left].is_left)
        left++;
    size_t out = (size_t)(cut * (double)left + 1e-9); /* 2/3 of 3 are 2 */
    return left > 0 && out >= left ? 1 : left - out;
}

/* --- Deciding --------------------------------------------------------------------------------- */

static void matrix_decide(struct step *step, struct phase *matrix)
{
    phase_move(step, matrix, PHASE_DECIDING, "");
    step_add(step, FX_JUDGE, matrix->workflow)->phase = matrix;
}

/* All members have come to an end, and none of them can be chosen. */
static void matrix_end_empty(struct step *step, struct phase *matrix, const unsigned *counts)
{
    char reason[REASON_MAX];
    matrix_let_go(step, matrix);
    if (counts[PHASE_FAILED]) {
        (void)snprintf(reason, sizeof reason, "none of its members is left: %u failed%s",
                       counts[PHASE_FAILED],
                       counts[PHASE_CANCELLED] ? ", the others were cancelled" : "");
        phase_fail(step, matrix, HOLD_FAILURE, reason);
    } else {
        phase_cancel(step, matrix, "its members were cancelled");
    }
}

static void matrix_settle_one(struct step *step, struct phase *matrix)
{
    const struct workflow *workflow = matrix->workflow;
    unsigned counts[PHASE_STATE_COUNT] = {0}, left = 0;
    struct phase *next;
    while ((next = matrix_next(matrix)))
        phase_start(step, next, "submitted");
    for (size_t i = 0; i < matrix->index; i++) {
        const struct phase *member = &workflow->phases[i];
        if (!phase_is_member(member, matrix))
            continue;
        if (!phase_state_is_final(member->state))
            return;
        counts[member->state]++;
        left += member->state == PHASE_SUCCEEDED && member->rung == matrix->rung;
    }
    if (left > 0)
        matrix_decide(step, matrix);
    else if (counts[PHASE_SKIPPED] == 0) /* else what they waited for skips the matrix too */
        matrix_end_empty(step, matrix, counts);
}

void matrix_settle(struct step *step, struct workflow *workflow)
{
    for (size_t i = 0; i < workflow->phase_count; i++)
        if (workflow->phases[i].is_matrix && workflow->phases[i].state == PHASE_BLOCKED)
            matrix_settle_one(step, &workflow->phases[i]);
}

/* Those that were chosen go on; the others have ended as they are. */
static void matrix_climb(struct step *step, struct phase *matrix, const struct core_choice *choice,
                         const char *message)
{
    char reason[REASON_MAX];
    matrix->rung++;
    matrix->is_overridden = false; /* that was said of the rung before */
    (void)snprintf(reason, sizeof reason, "rung %u of %u", matrix->rung + 1, matrix->rung_count);
    for (size_t i = 0; i < choice->count; i++) {
        struct phase *member = choice->members[i];
        assert(member->matrix == matrix && member->state == PHASE_SUCCEEDED);
        member->rung = matrix->rung;
        phase_adopt(member, &step->event->plan->phases[member->index]);
        if (member->reused && member->rung <= member->reused_rung)
            step_save_phase(step, member); /* its results are known there, too */
        else
            phase_move(step, member, PHASE_BLOCKED, reason);
    }
    phase_move(step, matrix, PHASE_BLOCKED, message); /* and is settled after this event */
    struct run *donor = matrix_donor(matrix);
    struct phase *next = matrix_next(matrix);
    if (donor && next && phase_fits(next, donor, step->now_ms))
        (void)phase_start_in_seat(step, next, donor, RUN_STARTING, "in place");
    else
        matrix_let_go(step, matrix);
}

void matrix_on_judged(struct step *step, const struct fact *fact)
{
    struct phase *matrix = fact->phase;
    const struct core_event *event = step->event;
    const struct core_choice *choice = event->choice;
    const char *message = event->message ? event->message : "";
    if (event->gate != GATE_PASSED) {
        matrix->best = NULL; /* what a person wanted cannot be */
        matrix->is_overridden = false;
        matrix_let_go(step, matrix);
        phase_fail(step, matrix, event->gate == GATE_FAILED ? HOLD_GATE : HOLD_FAILURE, message);
        return;
    }
    assert(choice && choice->count > 0);
    if (choice->goes_on) {
        assert(event->plan && matrix->rung + 1 < matrix->rung_count);
        matrix_climb(step, matrix, choice, message);
        return;
    }
    matrix->best = choice->best;
    if (event->plan)
        phase_adopt_plan(step, matrix, event->plan);
    if (matrix->promote_manual) {
        matrix_let_go(step, matrix);
        phase_move_held(step, matrix, HOLD_MANUAL, message);
    } else {
        phase_promote(step, matrix, "");
    }
}
