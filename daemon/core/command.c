/* What a person wants of a phase: whether it can be, and doing it. */
#include "daemon/core/step.h"

#include "lib/error.h"
#include "lib/text.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const command_names[] = {
#define X(symbol, name) [COMMAND_##symbol] = name,
    CORE_COMMANDS(X)
#undef X
};

const char *core_command_name(enum core_command command)
{
    assert(command < COMMAND_COUNT);
    return command_names[command];
}

int core_command_parse(const char *name)
{
    for (int command = 0; command < COMMAND_COUNT; command++)
        if (text_equal(command_names[command], name))
            return command;
    return -1;
}

static int command_deny(const struct phase *phase, enum core_command command, const char *advice,
                        struct error *err)
{
    return error_set(err, -EPERM, "cannot %s %llu/%s: it is %s%s%s%s%s", core_command_name(command),
                     (unsigned long long)phase->workflow->id, phase->name,
                     phase_state_name(phase->state), phase->state == PHASE_HELD ? " (" : "",
                     phase->state == PHASE_HELD ? phase_hold_name(phase->hold) : "",
                     phase->state == PHASE_HELD ? ")" : "", advice);
}

static bool phase_wishes(const struct phase *phase, enum run_wish wish)
{
    return phase->run && phase->run->state != RUN_ENDED && phase->run->wish == wish;
}

/* --- Matrices --------------------------------------------------------------------------------- */

/* Whether the command can be carried out on any member. */
static bool matrix_takes(const struct matrix *matrix, enum core_command command)
{
    for (size_t i = 0; i < matrix->count; i++)
        if (core_command_check(matrix->members[i], command, NULL) == 0)
            return true;
    return false;
}

/* Likewise, and has to wait for a run to stop. */
static bool matrix_stops(const struct matrix *matrix, enum core_command command)
{
    for (size_t i = 0; i < matrix->count; i++)
        if (core_command_check(matrix->members[i], command, NULL) == 0 &&
            core_command_stops(matrix->members[i], command))
            return true;
    return false;
}

/* Whether members were stopped before their params could show anything. */
static bool matrix_was_stopped(const struct matrix *matrix)
{
    return matrix_count(matrix, PHASE_HELD) + matrix_count(matrix, PHASE_CANCELLED) > 0;
}

/* Whether a retry would be a new decision on the results that are there: nothing runs again. */
static bool matrix_judges_again(const struct matrix *matrix)
{
    const struct phase *phase = matrix->phase;
    bool is_asked =
        phase->state == PHASE_HELD && (phase->hold == HOLD_GATE || phase->hold == HOLD_FAILURE);
    bool is_cancelled = phase->state == PHASE_CANCELLED && !matrix_was_stopped(matrix);
    return (is_asked || is_cancelled || phase->state == PHASE_FAILED) && matrix_has_results(matrix);
}

/* A matrix stands for its members. It is cancelled itself, held where nothing of it has to run, and
 * decided upon by a person like a gate. */
static int command_check_matrix(const struct phase *phase, enum core_command command,
                                struct error *err)
{
    bool is_held = phase->state == PHASE_HELD, takes = matrix_takes(phase->members, command);
    switch (command) {
    case COMMAND_PROMOTE:
        takes = is_held && (phase->hold == HOLD_MANUAL || phase->hold == HOLD_GATE);
        break;
    case COMMAND_CANCEL:
        takes = !phase_state_is_final(phase->state);
        break;
    case COMMAND_HOLD:
        takes = takes && phase->state == PHASE_BLOCKED;
        break;
    case COMMAND_RELEASE:
        takes = is_held ? phase->hold == HOLD_USER : takes && phase->state == PHASE_BLOCKED;
        break;
    case COMMAND_RETRY:
        takes = takes || matrix_judges_again(phase->members);
        break;
    case COMMAND_RESUME:
    case COMMAND_COUNT:
        break;
    }
    return takes ? 0 : command_deny(phase, command, "; none of its members takes that", err);
}

/* Whether its matrix waits for a person who may say that this one is the best. */
static bool member_is_eligible(const struct phase *member)
{
    const struct phase *matrix = member->matrix ? member->matrix->phase : NULL;
    return matrix && member->state == PHASE_SUCCEEDED && member->rung == matrix->rung &&
           matrix->state == PHASE_HELD && matrix->hold != HOLD_USER;
}

/* What a matrix has decided stands. */
static bool member_is_too_late(const struct phase *member, enum core_command command)
{
    const struct phase *matrix = member->matrix ? member->matrix->phase : NULL;
    return matrix && (command == COMMAND_RETRY || command == COMMAND_RESUME) &&
           (member->rung != matrix->rung || matrix->state == PHASE_DECIDING ||
            matrix->state == PHASE_SUCCEEDED ||
            (matrix->state == PHASE_HELD && matrix->hold == HOLD_MANUAL));
}

/* --- Phases ----------------------------------------------------------------------------------- */

/* What lets a phase go on that nobody has held by hand. */
static const char *command_release_advice(const struct phase *phase)
{
    if (phase->state != PHASE_HELD)
        return "; there is nothing to release";
    return phase->hold == HOLD_GATE     ? "; promote it or retry it"
           : phase->hold == HOLD_MANUAL ? "; promote it"
                                        : "; retry it";
}

int core_command_check(const struct phase *phase, enum core_command command, struct error *err)
{
    if (phase->members)
        return command_check_matrix(phase, command, err);
    if (member_is_too_late(phase, command))
        return command_deny(phase, command, "; its matrix has chosen without it", err);
    bool is_held = phase->state == PHASE_HELD;
    bool is_open = phase->state == PHASE_BLOCKED || phase->state == PHASE_QUEUED ||
                   phase->state == PHASE_ACTIVE;
    switch (command) {
    case COMMAND_PROMOTE:
        if (is_held && (phase->hold == HOLD_GATE || phase->hold == HOLD_MANUAL))
            return 0;
        if (member_is_eligible(phase))
            return 0;
        return command_deny(phase, command, "; only a phase held by its gate can be promoted", err);
    case COMMAND_HOLD:
        if (is_open && !phase_wishes(phase, WISH_CANCEL) && !phase_wishes(phase, WISH_HOLD))
            return 0;
        return command_deny(phase, command, is_open ? "; it is being stopped already" : "", err);
    case COMMAND_RELEASE:
        if (is_held && phase->hold == HOLD_USER)
            return 0;
        return command_deny(phase, command, command_release_advice(phase), err);
    case COMMAND_RESUME:
        if (!phase->checkpoint_path && (is_held || phase_state_is_final(phase->state)))
            return command_deny(phase, command, ", without a checkpoint to go on from", err);
        if (phase->state == PHASE_FAILED || phase->state == PHASE_CANCELLED ||
            (is_held && phase->hold != HOLD_MANUAL))
            return 0;
        return command_deny(phase, command, is_held ? "; promote it" : "", err);
    case COMMAND_CANCEL:
        if (!phase_state_is_final(phase->state) && !phase_wishes(phase, WISH_CANCEL))
            return 0;
        return command_deny(
            phase, command,
            phase_state_is_final(phase->state) ? "" : "; it is being cancelled already", err);
    case COMMAND_RETRY:
        if (phase->state == PHASE_FAILED || phase->state == PHASE_CANCELLED ||
            (is_held && phase->hold != HOLD_USER && phase->hold != HOLD_MANUAL))
            return 0;
        return command_deny(phase, command,
                            !is_held                   ? ""
                            : phase->hold == HOLD_USER ? "; release it"
                                                       : "; promote it or cancel it",
                            err);
    case COMMAND_COUNT:
        break;
    }
    assert(false && "a command of the table");
    return -EINVAL;
}

bool core_command_stops(const struct phase *phase, enum core_command command)
{
    if (phase->members)
        return matrix_stops(phase->members, command);
    return (command == COMMAND_HOLD || command == COMMAND_CANCEL) && phase->run &&
           phase->run->state != RUN_ENDED;
}

bool core_command_judges(const struct phase *phase, enum core_command command)
{
    return phase->members && matrix_judges_again(phase->members) &&
           (command == COMMAND_RETRY || command == COMMAND_PROMOTE);
}

/* --- Carrying out ----------------------------------------------------------------------------- */

static const char *command_who(const struct core_event *event)
{
    return event->message && *event->message ? event->message : "a person";
}

static void command_by(char text[REASON_MAX], const char *verb, const struct core_event *event)
{
    (void)snprintf(text, REASON_MAX, "%s by %.100s", verb, command_who(event));
}

/* A member runs again, so that its matrix waits for it again. */
static void matrix_revive(struct step *step, struct matrix *matrix, const char *reason)
{
    if (matrix->phase->state != PHASE_BLOCKED)
        phase_move(step, matrix->phase, PHASE_BLOCKED, reason);
    graph_revive_after(step, matrix->phase);
}

static void command_choose(struct phase *phase, const char *path, int64_t at)
{
    phase_choose_checkpoint(phase, path, at);
    phase->is_chosen = path[0] != '\0';
}

/* From the checkpoint that was chosen. Else from the newest one, but from the start where a gate
 * has judged the whole phase, since the same steps would be judged the same. (What was judged at an
 * earlier rung stays good.) */
static void command_retry(struct step *step, struct phase *phase, const char *reason)
{
    const struct core_event *event = step->event;
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
        matrix_revive(step, phase->matrix, reason);
    if (phase_is_ready(phase))
        phase_start(step, phase, reason);
    else
        phase_move(step, phase, PHASE_BLOCKED, reason);
    if (was_final)
        graph_revive_after(step, phase);
}

/* A matrix whose `where` left none chooses without it, and a person may choose themselves: both are
 * decisions like others, and judged. */
static void command_promote(struct step *step, struct phase *phase, const char *who)
{
    bool is_choice = phase->matrix && phase->state == PHASE_SUCCEEDED;
    bool is_gate = phase->hold == HOLD_GATE;
    struct matrix *matrix = is_choice ? phase->matrix : phase->members;
    char reason[REASON_MAX];
    if (!is_choice && !(matrix && is_gate)) {
        phase->is_overridden = is_gate;
        (void)snprintf(reason, sizeof reason, "promoted by %.200s", who);
        phase_succeed(step, phase, reason, who);
        return;
    }
    (void)snprintf(reason, sizeof reason, "%.100s promoted by %.100s", phase->name, who);
    matrix->best = is_choice ? phase : NULL;
    matrix->phase->is_overridden = true;
    matrix_revive(step, matrix, reason); /* and is settled after this event */
}

static void command_stop(struct step *step, struct phase *phase, enum core_command command,
                         const char *reason)
{
    bool is_hold = command == COMMAND_HOLD;
    if (core_command_stops(phase, command)) {
        run_stop(step, phase->run, is_hold ? WISH_HOLD : WISH_CANCEL, reason);
    } else if (is_hold) {
        phase_move_held(step, phase, HOLD_USER, reason);
    } else {
        phase_cancel(step, phase, reason);
    }
}

static void command_carry_out(struct step *step, struct phase *phase);

/* Carries the event's command out on the members that it is meant for: a retry runs those again
 * that were stopped; those that failed only where nothing else is to be done. False: it is about
 * the matrix itself, too. */
static bool matrix_command(struct step *step, struct matrix *matrix)
{
    enum core_command command = step->event->command;
    bool was_held = matrix->phase->state == PHASE_HELD;
    bool is_retry = command == COMMAND_RETRY || command == COMMAND_RESUME;
    if (command == COMMAND_PROMOTE || (command == COMMAND_RETRY && matrix_judges_again(matrix)))
        return false;
    bool spares_failed = is_retry && matrix_was_stopped(matrix);
    for (size_t i = 0; i < matrix->count; i++)
        if (!spares_failed || matrix->members[i]->state != PHASE_FAILED)
            command_carry_out(step, matrix->members[i]);
    return command != COMMAND_CANCEL && !(command == COMMAND_RELEASE && was_held);
}

static void command_carry_out(struct step *step, struct phase *phase)
{
    const struct core_event *event = step->event;
    char text[REASON_MAX];
    if (core_command_check(phase, event->command, NULL) < 0)
        return; /* it changed since the asker was told that it can be */
    if (phase->members && matrix_command(step, phase->members))
        return;
    switch (event->command) {
    case COMMAND_PROMOTE:
        command_promote(step, phase, command_who(event));
        break;
    case COMMAND_HOLD:
        command_by(text, "held", event);
        command_stop(step, phase, event->command, text);
        break;
    case COMMAND_CANCEL:
        command_by(text, "cancelled", event);
        command_stop(step, phase, event->command, text);
        break;
    case COMMAND_RELEASE:
        command_by(text, "released", event);
        if (phase_is_ready(phase))
            phase_start(step, phase, text);
        else
            phase_move(step, phase, PHASE_BLOCKED, text);
        break;
    case COMMAND_RESUME:
        command_by(text, "resumed", event);
        command_retry(step, phase, text);
        break;
    case COMMAND_RETRY:
        command_by(text, "retried", event);
        command_retry(step, phase, text);
        break;
    case COMMAND_COUNT:
        assert(false && "a command of the table");
    }
}

void command_on_fact(struct step *step, const struct fact *fact)
{
    command_carry_out(step, fact->phase);
}
