/* Commands of a person about a phase: whether the phase takes the command, and what it does. */
#include "daemon/core/decision.h"

#include "lib/error.h"
#include "lib/text.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool phase_runs(const struct phase *phase)
{
    return phase->run && phase->run->state != RUN_ENDED;
}

/* --- Who takes a command ---------------------------------------------------------------------- */

#define BIT(value) (1U << (value))

enum {
    ANY = UINT16_MAX,
    NOT_FINAL = BIT(PHASE_BLOCKED) | BIT(PHASE_QUEUED) | BIT(PHASE_ACTIVE) | BIT(PHASE_DECIDING),
};

/* The states and the holds in which a phase takes a command. `passes_on`: the states in which a
 * matrix passes the command on to the members that take it. */
struct command_row {
    uint16_t states, holds, passes_on;
};

static const struct command_row phase_rows[COMMAND_COUNT] = {
    [COMMAND_PROMOTE] = {.holds = BIT(HOLD_MANUAL) | BIT(HOLD_GATE)},
    [COMMAND_HOLD] = {.states = BIT(PHASE_BLOCKED) | BIT(PHASE_QUEUED) | BIT(PHASE_ACTIVE)},
    [COMMAND_RELEASE] = {.holds = BIT(HOLD_USER)},
    [COMMAND_RESUME] = {.states = BIT(PHASE_FAILED) | BIT(PHASE_CANCELLED),
                        .holds = ANY & ~BIT(HOLD_MANUAL)},
    [COMMAND_CANCEL] = {.states = NOT_FINAL, .holds = ANY},
    [COMMAND_RETRY] = {.states = BIT(PHASE_FAILED) | BIT(PHASE_CANCELLED),
                       .holds = BIT(HOLD_GATE) | BIT(HOLD_FAILURE) | BIT(HOLD_PROGRESS)},
};

/* A person decides about a matrix as about a gate. A matrix also takes a retry if it can choose
 * again: matrix_judges_again(). */
static const struct command_row matrix_rows[COMMAND_COUNT] = {
    [COMMAND_PROMOTE] = {.holds = BIT(HOLD_MANUAL) | BIT(HOLD_GATE)},
    [COMMAND_HOLD] = {.passes_on = BIT(PHASE_BLOCKED)},
    [COMMAND_RELEASE] = {.holds = BIT(HOLD_USER), .passes_on = BIT(PHASE_BLOCKED)},
    [COMMAND_RESUME] = {.passes_on = ANY},
    [COMMAND_CANCEL] = {.states = NOT_FINAL, .holds = ANY},
    [COMMAND_RETRY] = {.passes_on = ANY},
};

static bool command_row_has(const struct command_row *row, const struct phase *phase)
{
    return phase->state == PHASE_HELD ? row->holds & BIT(phase->hold)
                                      : row->states & BIT(phase->state);
}

/* Whether members were stopped before their params could show anything. */
static bool matrix_was_stopped(const struct matrix *matrix)
{
    return matrix_count(matrix, PHASE_HELD) + matrix_count(matrix, PHASE_CANCELLED) > 0;
}

/* Whether a retry makes the matrix choose again from the results that it has. In that case nothing
 * runs. */
static bool matrix_judges_again(const struct matrix *matrix)
{
    const struct phase *phase = matrix->phase;
    bool is_asked =
        phase->state == PHASE_HELD && (phase->hold == HOLD_GATE || phase->hold == HOLD_FAILURE);
    bool is_cancelled = phase->state == PHASE_CANCELLED && !matrix_was_stopped(matrix);
    return (is_asked || is_cancelled || phase->state == PHASE_FAILED) && matrix_has_results(matrix);
}

/* Whether the command is about the matrix itself. */
static bool matrix_takes(const struct matrix *matrix, enum phase_command command)
{
    return command_row_has(&matrix_rows[command], matrix->phase) ||
           (command == COMMAND_RETRY && matrix_judges_again(matrix));
}

/* Whether the matrix takes the command itself, or a member does. */
static bool matrix_stands_for(const struct matrix *matrix, enum phase_command command)
{
    bool takes = matrix_takes(matrix, command);
    bool passes_on = matrix_rows[command].passes_on & BIT(matrix->phase->state);
    for (size_t i = 0; passes_on && !takes && i < matrix->count; i++)
        takes = core_command_check(matrix->members[i], command, NULL) == 0;
    return takes;
}

/* Whether the matrix of the member waits for a person, who may say that this member is the best. */
static bool member_is_eligible(const struct phase *member)
{
    const struct phase *matrix = member->matrix ? member->matrix->phase : NULL;
    return matrix && member->state == PHASE_SUCCEEDED && member->rung == matrix->rung &&
           matrix->state == PHASE_HELD && matrix->hold != HOLD_USER;
}

/* Whether the matrix has decided without the member: the decision stands. */
static bool member_is_too_late(const struct phase *member, enum phase_command command)
{
    const struct phase *matrix = member->matrix ? member->matrix->phase : NULL;
    return matrix && (command == COMMAND_RETRY || command == COMMAND_RESUME) &&
           (member->rung != matrix->rung || matrix->state == PHASE_DECIDING ||
            matrix->state == PHASE_SUCCEEDED ||
            (matrix->state == PHASE_HELD && matrix->hold == HOLD_MANUAL));
}

static bool phase_takes_retry(const struct phase *phase)
{
    return command_row_has(&phase_rows[COMMAND_RETRY], phase) &&
           !member_is_too_late(phase, COMMAND_RETRY);
}

/* What a person can do instead, if the phase does not take the command in its state. */
static const char *command_advice(const struct phase *phase, enum phase_command command)
{
    bool is_held = phase->state == PHASE_HELD;
    if (command == COMMAND_PROMOTE)
        return phase_takes_retry(phase)
                   ? "; only a phase held by its gate can be promoted: retry it"
                   : "; only a phase held by its gate can be promoted";
    if (command == COMMAND_RELEASE)
        return is_held && phase->hold == HOLD_GATE     ? "; promote it or retry it"
               : is_held && phase->hold == HOLD_MANUAL ? "; promote it"
               : phase_takes_retry(phase)              ? "; retry it"
                                                       : "; there is nothing to release";
    if (command == COMMAND_RETRY && is_held)
        return phase->hold == HOLD_USER ? "; release it" : "; promote it or cancel it";
    return command == COMMAND_RESUME && is_held ? "; promote it" : "";
}

/* Why the phase does not take the command, as the end of a sentence about the phase; NULL: it takes
 * the command. */
static const char *command_objection(const struct phase *phase, enum phase_command command)
{
    bool has_come_to_rest = phase->state == PHASE_HELD || phase_state_is_final(phase->state);
    enum run_wish wish = phase_runs(phase) ? phase->run->wish : WISH_NONE;
    if (phase->members)
        return matrix_stands_for(phase->members, command)
                   ? NULL
                   : "; no member of the matrix takes this command";
    if (member_is_too_late(phase, command))
        return "; the matrix has already chosen without this member";
    if (command == COMMAND_RESUME && !phase->checkpoint_path && has_come_to_rest)
        return phase_takes_retry(phase) ? ", without a checkpoint to go on from: retry it"
                                        : ", without a checkpoint to go on from";
    if (!command_row_has(&phase_rows[command], phase) &&
        !(command == COMMAND_PROMOTE && member_is_eligible(phase)))
        return command_advice(phase, command);
    if (command == COMMAND_HOLD && wish != WISH_NONE)
        return "; it is being stopped already";
    return command == COMMAND_CANCEL && wish == WISH_CANCEL ? "; it is being cancelled already"
                                                            : NULL;
}

int core_command_check(const struct phase *phase, enum phase_command command, struct error *err)
{
    assert(command < COMMAND_COUNT);
    const char *objection = command_objection(phase, command);
    bool is_held = phase->state == PHASE_HELD;
    if (!objection)
        return 0;
    return error_set(err, -EPERM, "cannot %s %llu/%s: it %s %s%s%s%s%s",
                     phase_command_name(command), (unsigned long long)phase->workflow->id,
                     phase->name, state_verb(phase_state_name(phase->state)),
                     phase_state_name(phase->state), is_held ? " (" : "",
                     is_held ? phase_hold_name(phase->hold) : "", is_held ? ")" : "", objection);
}

bool core_command_stops(const struct phase *phase, enum phase_command command)
{
    const struct matrix *matrix = phase->members;
    for (size_t i = 0; matrix && i < matrix->count; i++)
        if (core_command_check(matrix->members[i], command, NULL) == 0 &&
            core_command_stops(matrix->members[i], command))
            return true;
    return (command == COMMAND_HOLD || command == COMMAND_CANCEL) && phase_runs(phase);
}

bool core_command_judges(const struct phase *phase, enum phase_command command)
{
    return phase->members && matrix_judges_again(phase->members) &&
           (command == COMMAND_RETRY || command == COMMAND_PROMOTE);
}

/* --- Carrying out ----------------------------------------------------------------------------- */

/* A member runs again, so its matrix waits for the member again. */
static void matrix_revive(struct decision *decision, struct matrix *matrix, const char *reason)
{
    if (matrix->phase->state != PHASE_BLOCKED)
        graph_wait(decision, matrix->phase, reason);
    graph_revive_after(decision, matrix->phase);
}

static void command_choose(struct phase *phase, const char *path, int64_t at)
{
    phase_choose_checkpoint(phase, path, at);
    phase->is_chosen = path[0] != '\0';
}

/* The phase begins, or waits for the phases before it. */
static void command_release(struct decision *decision, struct phase *phase, const char *reason)
{
    if (phase_is_ready(phase))
        phase_start(decision, phase, reason, 0);
    else
        graph_wait(decision, phase, reason);
}

/* The phase runs again, from the checkpoint that a person chose, or else from the newest one. If a
 * gate has judged the whole phase, a retry begins from the start, since the same steps would be
 * judged the same. (A judgement at an earlier rung does not count.) */
static void command_retry(struct decision *decision, struct phase *phase, const char *reason)
{
    const struct core_event *event = decision->event;
    bool was_judged =
        phase->run && phase->run->outcome == OUTCOME_SUCCEEDED && phase->run->rung == phase->rung;
    if (event->path)
        command_choose(phase, event->path, event->step);
    else if (was_judged && event->command == COMMAND_RETRY)
        command_choose(phase, "", 0);
    memset(phase->failures, 0, sizeof phase->failures);
    phase->losses = phase->stalls = 0;
    bool was_final = phase_state_is_final(phase->state);
    if (phase->matrix)
        matrix_revive(decision, phase->matrix, reason);
    command_release(decision, phase, reason);
    if (was_final)
        graph_revive_after(decision, phase);
}

static const char *command_who(const struct core_event *event)
{
    return event->message && *event->message ? event->message : "a person";
}

/* A person may let a matrix choose that was held because of `where` or missing metrics, or promote
 * the member that is to be the best. Both are judged like other decisions. */
static void command_promote(struct decision *decision, struct phase *phase, const char *reason)
{
    bool is_choice = phase->matrix && phase->state == PHASE_SUCCEEDED;
    bool is_gate = phase->hold == HOLD_GATE;
    struct matrix *matrix = is_choice ? phase->matrix : phase->members;
    if (!is_choice && !(matrix && is_gate)) {
        phase->is_overridden = is_gate;
        phase_succeed(decision, phase, reason, command_who(decision->event));
        return;
    }
    char text[REASON_MAX];
    (void)snprintf(text, sizeof text, "%.100s %.120s", phase->name, reason);
    matrix->best = is_choice ? phase : NULL;
    matrix->phase->is_overridden = true;
    matrix_revive(decision, matrix, text); /* it decides after this event */
}

static void command_hold(struct decision *decision, struct phase *phase, const char *reason)
{
    if (phase_runs(phase))
        run_stop(decision, phase->run, WISH_HOLD, reason);
    else
        phase_move_held(decision, phase, HOLD_USER, reason);
}

static void command_cancel(struct decision *decision, struct phase *phase, const char *reason)
{
    if (phase_runs(phase))
        run_stop(decision, phase->run, WISH_CANCEL, reason);
    else
        phase_cancel(decision, phase, reason);
}

static void command_carry_out(struct decision *decision, struct phase *phase)
{
    static const struct {
        const char *verb;
        void (*carry_out)(struct decision *decision, struct phase *phase, const char *reason);
    } rows[COMMAND_COUNT] = {
        [COMMAND_PROMOTE] = {"promoted", command_promote},
        [COMMAND_HOLD] = {"held", command_hold},
        [COMMAND_RELEASE] = {"released", command_release},
        [COMMAND_RESUME] = {"resumed", command_retry},
        [COMMAND_CANCEL] = {"cancelled", command_cancel},
        [COMMAND_RETRY] = {"retried", command_retry},
    };
    const struct core_event *event = decision->event;
    char reason[REASON_MAX];
    (void)snprintf(reason, sizeof reason, "%s by %.100s", rows[event->command].verb,
                   command_who(event));
    phase->hold_budget = event->budget;
    phase->hold_amount = event->amount;
    rows[event->command].carry_out(decision, phase, reason);
}

/* Carries the command out on the members that take it. If members were stopped, a retry runs only
 * those again, and spares the members that failed. */
static void matrix_pass_on_command(struct decision *decision, struct matrix *matrix)
{
    enum phase_command command = decision->event->command;
    bool is_retry = command == COMMAND_RETRY || command == COMMAND_RESUME;
    bool spares_failed = is_retry && matrix_was_stopped(matrix);
    for (size_t i = 0; i < matrix->count; i++) {
        struct phase *member = matrix->members[i];
        if (!(spares_failed && member->state == PHASE_FAILED) &&
            core_command_check(member, command, NULL) == 0)
            command_carry_out(decision, member);
    }
}

void command_on_fact(struct decision *decision, const struct fact *fact)
{
    struct phase *phase = fact->phase;
    enum phase_command command = decision->event->command;
    if (core_command_check(phase, command, NULL) < 0)
        return; /* the phase has changed since the command was checked */
    bool is_own = !phase->members || matrix_takes(phase->members, command);
    bool is_decision = command == COMMAND_PROMOTE || core_command_judges(phase, command);
    if (phase->members && !is_decision)
        matrix_pass_on_command(decision, phase->members);
    if (is_own)
        command_carry_out(decision, phase);
}
