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

/* --- Starting --------------------------------------------------------------------------------- */

/* Whether all its members have come to an end. */
static bool matrix_is_through(const struct matrix *matrix)
{
    for (size_t i = 0; i < matrix->count; i++)
        if (!phase_state_is_final(matrix->members[i]->state))
            return false;
    return true;
}

/* The first member that waits for nothing but a lane; NULL: none. */
static struct phase *matrix_next(const struct matrix *matrix)
{
    for (size_t i = 0; i < matrix->count; i++)
        if (matrix->members[i]->state == PHASE_BLOCKED && phase_is_ready(matrix->members[i]))
            return matrix->members[i];
    return NULL;
}

bool matrix_hand_over(struct step *step, struct phase *member)
{
    const struct matrix *matrix = member->matrix;
    if (!matrix || matrix->lanes == 0 || matrix->phase->state != PHASE_BLOCKED)
        return false;
    struct phase *next = matrix_next(matrix);
    if (!next || !phase_fits(next, member->run, step->now_ms))
        return false;
    (void)phase_start_in_seat(step, next, member->run, RUN_STARTING, "in place");
    return true;
}

bool matrix_keeps(const struct phase *member)
{
    const struct matrix *matrix = member->matrix;
    return matrix && matrix->lanes > 0 && !matrix->is_parallel &&
           matrix->phase->state == PHASE_BLOCKED && matrix_is_through(matrix);
}

struct run *matrix_donor(const struct matrix *matrix)
{
    struct run *donor = NULL;
    bool is_serial = matrix->lanes > 0 && !matrix->is_parallel;
    for (size_t i = 0; is_serial && i < matrix->count; i++) {
        struct run *run = matrix->members[i]->run;
        if (run && run->state == RUN_ENDED && !run->is_let_go && !run->seat->allocation->ended &&
            seat_run(matrix->phase->workflow, run->seat) == run &&
            (!donor || run->ended_ms > donor->ended_ms))
            donor = run;
    }
    return donor;
}

void matrix_let_go(struct step *step, struct matrix *matrix)
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

static void matrix_decide(struct step *step, const struct matrix *matrix)
{
    phase_move(step, matrix->phase, PHASE_DECIDING, "");
    step_add(step, FX_JUDGE, matrix->phase->workflow)->phase = matrix->phase;
}

/* All members have come to an end, and none of them can be chosen. */
static void matrix_end_empty(struct step *step, struct matrix *matrix, const unsigned *counts)
{
    char reason[REASON_MAX];
    matrix_let_go(step, matrix);
    if (counts[PHASE_FAILED]) {
        (void)snprintf(reason, sizeof reason, "none of its members is left: %u failed%s",
                       counts[PHASE_FAILED],
                       counts[PHASE_CANCELLED] ? ", the others were cancelled" : "");
        phase_fail(step, matrix->phase, HOLD_FAILURE, reason);
    } else {
        phase_cancel(step, matrix->phase, "its members were cancelled");
    }
}

static void matrix_settle_one(struct step *step, struct matrix *matrix)
{
    unsigned counts[PHASE_STATE_COUNT] = {0}, left = 0;
    struct phase *next;
    while ((next = matrix_next(matrix)))
        phase_start(step, next, "submitted");
    if (!matrix_is_through(matrix))
        return;
    for (size_t i = 0; i < matrix->count; i++) {
        const struct phase *member = matrix->members[i];
        counts[member->state]++;
        left += member->state == PHASE_SUCCEEDED && member->rung == matrix->phase->rung;
    }
    if (left > 0)
        matrix_decide(step, matrix);
    else if (counts[PHASE_SKIPPED] == 0) /* else what they waited for skips the matrix too */
        matrix_end_empty(step, matrix, counts);
}

void matrix_settle(struct step *step, struct workflow *workflow)
{
    for (size_t i = 0; i < workflow->phase_count; i++)
        if (workflow->phases[i].members && workflow->phases[i].state == PHASE_BLOCKED)
            matrix_settle_one(step, workflow->phases[i].members);
}

/* Those that were chosen go on; the others have ended as they are. */
static void matrix_climb(struct step *step, struct matrix *matrix, const struct core_choice *choice,
                         const char *message)
{
    struct phase *phase = matrix->phase;
    char reason[REASON_MAX];
    phase->rung++;
    phase->is_overridden = false; /* that was said of the rung before */
    (void)snprintf(reason, sizeof reason, "rung %u of %u", phase->rung + 1, matrix->rung_count);
    for (size_t i = 0; i < choice->count; i++) {
        struct phase *member = choice->members[i];
        assert(member->matrix == matrix && member->state == PHASE_SUCCEEDED);
        member->rung = phase->rung;
        phase_adopt(member, &step->event->plan->phases[member->index]);
        if (member->reused && member->rung <= member->reused_rung)
            step_save_phase(step, member); /* its results are known there, too */
        else
            phase_move(step, member, PHASE_BLOCKED, reason);
    }
    phase_move(step, phase, PHASE_BLOCKED, message); /* and is settled after this event */
    struct run *donor = matrix_donor(matrix);
    struct phase *next = matrix_next(matrix);
    if (donor && next && phase_fits(next, donor, step->now_ms))
        (void)phase_start_in_seat(step, next, donor, RUN_STARTING, "in place");
    else
        matrix_let_go(step, matrix);
}

void matrix_on_judged(struct step *step, const struct fact *fact)
{
    struct phase *phase = fact->phase;
    struct matrix *matrix = phase->members;
    const struct core_event *event = step->event;
    const struct core_choice *choice = event->choice;
    const char *message = event->message ? event->message : "";
    if (event->gate != GATE_PASSED) {
        matrix->best = NULL; /* what a person wanted cannot be */
        phase->is_overridden = false;
        matrix_let_go(step, matrix);
        phase_fail(step, phase, event->gate == GATE_FAILED ? HOLD_GATE : HOLD_FAILURE, message);
        return;
    }
    assert(choice && choice->count > 0);
    if (choice->goes_on) {
        assert(event->plan && phase->rung + 1 < matrix->rung_count);
        matrix_climb(step, matrix, choice, message);
        return;
    }
    matrix->best = choice->best;
    if (event->plan)
        phase_adopt_plan(step, phase, event->plan);
    if (phase->promote_manual) {
        matrix_let_go(step, matrix);
        phase_move_held(step, phase, HOLD_MANUAL, message);
    } else {
        phase_promote(step, phase, "");
    }
}
