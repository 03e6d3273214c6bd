/* Matrices: phases that have members, and choose among them.
 *
 * Members are phases like others, made by the parser of the spec: gates, remedies, recovery and
 * commands know nothing of matrices. The phase of the matrix never runs. It is blocked while
 * members run. matrix_settle() looks at it after every event, and it decides when all members have
 * come to an end (FX_JUDGE). A room that has the metrics of the members puts them in order. Its
 * answer names the members that go on to the next rung with the params of that rung, or the best
 * member. The matrix takes over the params of the best member, and the phases after it are
 * resolved again with these params.
 *
 * If the matrix cannot choose, the results stay. A retry judges the results again. A promotion
 * judges them with the metrics that are there, without `where` if `where` leaves no member, or with
 * the member that a person wants (is_overridden, best).
 *
 * Packed members begin in the allocation that another member leaves (matrix_takes_over()). The
 * allocation of the last member is kept while the matrix decides, for the next rung or for the
 * phase after it (phase_donor()). Members side by side are `beside` their matrix, and have a slot
 * of the GPUs each. */
#include "daemon/core/decision.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

bool matrix_is_through(const struct matrix *matrix)
{
    for (size_t i = 0; i < matrix->count; i++)
        if (!phase_state_is_final(matrix->members[i]->state))
            return false;
    return true;
}

unsigned matrix_count(const struct matrix *matrix, enum phase_state state)
{
    unsigned count = 0;
    for (size_t i = 0; i < matrix->count; i++)
        count += matrix->members[i]->state == state;
    return count;
}

bool matrix_has_results(const struct matrix *matrix)
{
    for (size_t i = 0; i < matrix->count; i++)
        if (matrix->members[i]->state == PHASE_SUCCEEDED &&
            matrix->members[i]->rung == matrix->phase->rung)
            return true;
    return false;
}

/* --- Starting --------------------------------------------------------------------------------- */

/* The first member that can begin; NULL: no member can. */
static struct phase *matrix_next(const struct matrix *matrix)
{
    for (size_t i = 0; i < matrix->count; i++)
        if (matrix->members[i]->state == PHASE_BLOCKED && phase_is_ready(matrix->members[i]))
            return matrix->members[i];
    return NULL;
}

/* Begins the next member in the allocation that the donor keeps. False: no member fits. */
static bool matrix_pass_on(struct decision *decision, const struct matrix *matrix,
                           struct run *donor)
{
    struct phase *next = matrix_next(matrix);
    if (!next || !donor || !phase_fits(next, donor, decision->now_ms))
        return false;
    (void)phase_start_in_seat(decision, next, donor, RUN_STARTING, "in place");
    return true;
}

bool matrix_takes_over(struct decision *decision, const struct phase *member)
{
    const struct matrix *matrix = member->matrix;
    if (!matrix || matrix->lanes == 0 || matrix->phase->state != PHASE_BLOCKED)
        return false;
    return matrix_pass_on(decision, matrix, phase_donor(member)) ||
           (!matrix->is_parallel && matrix_is_through(matrix));
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
    if (isnan(left->value) != isnan(right->value)) /* if no member is measured, all have no value */
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

size_t core_kept(size_t left, double cut)
{
    size_t out = (size_t)(cut * (double)left + 1e-9); /* 2/3 of 3 are 2 */
    return left > 0 && out >= left ? 1 : left - out;
}

size_t core_choose(struct core_score *scores, size_t count, bool is_min, double cut)
{
    size_t left = 0;
    qsort(scores, count, sizeof *scores, is_min ? score_compare_min : score_compare_max);
    while (left < count && scores[left].is_left)
        left++;
    return core_kept(left, cut);
}

/* --- Deciding --------------------------------------------------------------------------------- */

static void matrix_decide(struct decision *decision, const struct matrix *matrix)
{
    phase_move(decision, matrix->phase, PHASE_DECIDING, "");
    decision_add(decision, FX_JUDGE, matrix->phase->workflow)->phase = matrix->phase;
}

/* All members have come to an end, and no member can be chosen. */
static void matrix_end_empty(struct decision *decision, struct matrix *matrix)
{
    unsigned failed = matrix_count(matrix, PHASE_FAILED);
    char reason[REASON_MAX];
    if (failed > 0) {
        bool has_cancelled = matrix_count(matrix, PHASE_CANCELLED) > 0;
        (void)snprintf(reason, sizeof reason, "no member is left: %u failed%s", failed,
                       has_cancelled ? ", the others were cancelled" : "");
        phase_fail(decision, matrix->phase, HOLD_FAILURE, reason);
    } else {
        phase_cancel(decision, matrix->phase, "its members were cancelled");
    }
}

static void matrix_on_settled(struct decision *decision, struct matrix *matrix)
{
    struct phase *next;
    while ((next = matrix_next(matrix)))
        phase_start(decision, next, "submitted", 0);
    if (!matrix_is_through(matrix))
        return;
    if (matrix_has_results(matrix))
        matrix_decide(decision, matrix);
    else if (matrix_count(matrix, PHASE_SKIPPED) == 0) /* else the matrix is skipped, too */
        matrix_end_empty(decision, matrix);
}

/* The members that were chosen go on to the next rung; the others stay as they are. */
static void matrix_climb(struct decision *decision, struct matrix *matrix,
                         const struct core_choice *choice, const char *message)
{
    struct phase *phase = matrix->phase;
    char reason[REASON_MAX];
    phase->rung++;
    phase->is_overridden = false; /* a person decided the gate of the rung before */
    (void)snprintf(reason, sizeof reason, "rung %u of %u", phase->rung + 1, matrix->rung_count);
    for (size_t i = 0; i < choice->count; i++) {
        struct phase *member = choice->members[i];
        assert(member->matrix == matrix && member->state == PHASE_SUCCEEDED);
        member->rung = phase->rung;
        member->is_overridden = false; /* as above */
        phase_adopt(member, &decision->event->revision->phases[member->index]);
        if (member->reused && member->rung <= member->reused_rung)
            decision_save_phase(decision, member); /* its results at this rung are known, too */
        else
            phase_move(decision, member, PHASE_BLOCKED, reason);
    }
    phase_move(decision, phase, PHASE_BLOCKED, message); /* it is settled after this event */
    if (!matrix_pass_on(decision, matrix, phase_donor(phase)))
        phase_let_go(decision, phase);
}

static void matrix_on_judged(struct decision *decision, struct matrix *matrix)
{
    struct phase *phase = matrix->phase;
    const struct core_event *event = decision->event;
    const struct core_choice *choice = event->choice;
    const char *message = event->message ? event->message : "";
    if (event->gate != GATE_PASSED) {
        matrix->best = NULL; /* the member that a person wanted is impossible */
        phase->is_overridden = false;
        phase_fail(decision, phase, event->gate == GATE_FAILED ? HOLD_GATE : HOLD_FAILURE, message);
        return;
    }
    assert(choice && choice->count > 0);
    if (choice->goes_on) {
        assert(event->revision && phase->rung + 1 < matrix->rung_count);
        matrix_climb(decision, matrix, choice, message);
        return;
    }
    matrix->best = choice->best;
    if (event->revision)
        phase_adopt_revision(decision, phase, event->revision);
    if (phase->promote_manual) {
        phase_let_go(decision, phase);
        phase_move_held(decision, phase, HOLD_MANUAL, message);
    } else {
        phase_succeed(decision, phase, message, "");
    }
}

/* --- The table -------------------------------------------------------------------------------- */

typedef void matrix_handler(struct decision *decision, struct matrix *matrix);

/* A row for each state. An empty cell: the fact changes nothing, or comes too late. */
static matrix_handler *const matrix_table[PHASE_STATE_COUNT][FACT_COUNT] = {
    [PHASE_BLOCKED] = {[FACT_SETTLED] = matrix_on_settled},
    [PHASE_DECIDING] = {[EV_JUDGED] = matrix_on_judged},
};

void matrix_on_fact(struct decision *decision, const struct fact *fact)
{
    matrix_handler *handler = matrix_table[fact->phase->state][fact->kind];
    if (handler)
        handler(decision, fact->phase->members);
}

void matrix_settle(struct decision *decision, struct workflow *workflow)
{
    for (size_t i = 0; i < workflow->phase_count; i++)
        if (workflow->phases[i].members)
            matrix_on_fact(decision,
                           &(struct fact){.kind = FACT_SETTLED, .phase = &workflow->phases[i]});
}
