/* Seats: which allocation a seat has, if there are several candidates for the seat.
 *
 * This file does not decide which candidate serves the seat. Leads decide that by the claim on the
 * folder of the seat (doc/protocol.md). So the decision is right even while the daemon is away. The
 * report of the lead tells the daemon. Until then no candidate may be cancelled because another
 * candidate was seen to run. The candidate that Slurm shows as running may have come second. Then
 * allocation_settle() cancels the superseded candidates. */
#include "daemon/core/decision.h"

#include "lib/text.h"

struct seat *seat_new(struct decision *decision, struct workflow *workflow)
{
    struct seat *seat = workflow_add_seat(workflow);
    seat->id = ++decision->config->last_seat;
    return seat;
}

struct allocation *seat_left(const struct seat *seat)
{
    const struct workflow *workflow = seat->workflow;
    for (size_t i = 0; i < workflow->allocation_count; i++) {
        struct allocation *candidate = workflow->allocations[i];
        if (candidate->seat == seat && !candidate->ended && !candidate->is_closed)
            return candidate;
    }
    return NULL;
}

/* A candidate that may still come, or else a candidate that was cancelled and has not ended. */
static struct allocation *seat_there(const struct seat *seat)
{
    const struct workflow *workflow = seat->workflow;
    struct allocation *there = seat_left(seat);
    for (size_t i = 0; i < workflow->allocation_count && !there; i++)
        if (workflow->allocations[i]->seat == seat && !workflow->allocations[i]->ended)
            there = workflow->allocations[i];
    return there;
}

bool seat_loses(struct decision *decision, const struct allocation *allocation)
{
    struct run *run = allocation_run(allocation);
    struct allocation *there = seat_there(run->seat);
    if (!seat_is_open(run) || !there)
        return true;
    if (run->seat->allocation == allocation) {
        run->seat->allocation = there;
        decision_save_run(decision, run);
    }
    return false;
}

void seat_regains(struct decision *decision, struct allocation *allocation)
{
    struct run *run = allocation_run(allocation);
    if (!seat_is_open(run) || !run->seat->allocation->ended)
        return;
    run->seat->allocation = allocation;
    decision_save_run(decision, run);
}

void seat_decide(struct run *run, const char *token, uint32_t slurm_id)
{
    const struct workflow *workflow = run->phase->workflow;
    struct allocation *found = NULL;
    if (!seat_is_open(run))
        return;
    for (size_t i = 0; i < workflow->allocation_count; i++) {
        struct allocation *candidate = workflow->allocations[i];
        if (candidate->seat != run->seat)
            continue;
        if (token ? text_equal(candidate->token, token)
                  : slurm_id && candidate->slurm_id == slurm_id)
            found = candidate;
    }
    if (found)
        run->seat->allocation = found;
}

bool seat_is_done_with(const struct run *run, const struct allocation *candidate)
{
    if (seat_is_open(run))
        return run->wish != WISH_NONE;
    bool never_began = run->state == RUN_ENDED && !run->has_begun && !run->in_place;
    return run->seat->allocation != candidate || never_began;
}

static bool seat_slot_is_taken(const struct allocation *allocation, unsigned slot)
{
    const struct run *run;
    for (size_t at = 0; (run = allocation_next_run(allocation, &at));)
        if (run->state != RUN_ENDED && run->seat->slot == slot)
            return true;
    return false;
}

void seat_join(struct decision *decision, struct run *run, struct allocation *allocation)
{
    struct seat *seat = run->seat;
    decision_new_token(decision, seat->token);
    while (seat_slot_is_taken(allocation, seat->slot))
        seat->slot++;
    seat->allocation = allocation;
    struct run *other;
    for (size_t at = 0; (other = allocation_next_run(allocation, &at));)
        other->idle_seen_ms = 0;
}
