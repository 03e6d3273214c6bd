/* The fake loop: a queue of events, a step and a commit for each, then the effects, with crashes in
 * between. Its record is the model at the last commit (record.c), and the outbox. */
#include "tests/sim/sim.h"

#include "lib/text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOOKUP_LAST_MS = 5000,      /* the same as in daemon/loop */
    PAUSE_LAST_MS = 300 * 1000, /* the same as in daemon/loop */
    CANCEL_RETRY_MS = 5000,     /* the same as in daemon/launch */
};

static void daemon_token(void *context, char ret_token[TOKEN_LENGTH + 1])
{
    struct sim *sim = context;
    uint64_t number = ++sim->tokens;
    assert(number < SIM_TOKENS_MAX);
    for (unsigned i = TOKEN_LENGTH; i-- > 0; number /= 16)
        ret_token[i] = "0123456789abcdef"[number % 16];
    ret_token[TOKEN_LENGTH] = '\0';
}

static struct workflow *daemon_workflow(const struct sim *sim)
{
    return core_workflow_at(sim->daemon.core, 0);
}

/* Returns NULL if the workflow has no such run. */
static struct run *daemon_run(const struct sim *sim, uint64_t id)
{
    const struct workflow *workflow = daemon_workflow(sim);
    for (size_t i = 0; i < workflow->run_count; i++)
        if (workflow->runs[i]->id == id)
            return workflow->runs[i];
    return NULL;
}

/* Returns NULL if the workflow has no such allocation. */
static struct allocation *daemon_allocation(const struct sim *sim, uint64_t id)
{
    const struct workflow *workflow = daemon_workflow(sim);
    for (size_t i = 0; i < workflow->allocation_count; i++)
        if (workflow->allocations[i]->id == id)
            return workflow->allocations[i];
    return NULL;
}

const struct workflow *daemon_record(const struct sim *sim)
{
    return sim->record.workflow;
}

static void daemon_post(struct sim *sim, struct sim_event event)
{
    assert(sim->daemon.queue_count < SIM_QUEUE_MAX);
    sim->daemon.queue[sim->daemon.queue_count++] = event;
}

static void daemon_post_job(struct sim *sim, enum core_event_kind kind, uint64_t job, uint32_t id)
{
    struct sim_event event = {.event = {.kind = kind, .slurm_id = id}, .phase = -1, .job = job};
    event.due = sim->now + (sim_fault(sim, 5) ? sim_below(sim, 20) : 0); /* some answers are slow */
    daemon_post(sim, event);
}

void daemon_crash(struct sim *sim, int64_t away_s)
{
    struct sim_daemon *daemon = &sim->daemon;
    sim_say(sim, "daemon: crashed, away for %lld s", (long long)away_s);
    core_free(daemon->core);
    daemon->core = NULL;
    daemon->queue_count = 0;
    daemon->up_at = sim->now + away_s;
}

static int64_t daemon_now_ms(const struct sim *sim)
{
    return world_ms(1) + (sim->now - 1) * 1000 + sim->daemon.clock_ms;
}

/* --- Commit ----------------------------------------------------------------------------------- */

static void daemon_commit(struct sim *sim, const struct core_effects *effects)
{
    for (size_t i = 0; i < effects->count; i++) {
        const struct core_effect *effect = &effects->items[i];
        if (effect->kind == FX_HISTORY) {
            sim_say(sim, "%s%s %s -> %s %s", effect->phase->name, effect->run ? " run" : "",
                    effect->from, effect->to, effect->message);
            check_history(sim, effect);
        } else if (core_effect_rows[effect->kind].is_kept) {
            outbox_apply(&sim->daemon, effect);
        }
    }
    struct sim_record *record = &sim->record;
    struct workflow *copy = workflow_copy(daemon_workflow(sim));
    check_saved(sim, effects, copy);
    workflow_free(record->workflow);
    record->workflow = copy;
    record->outbox_count = sim->daemon.outbox_count;
    memcpy(record->outbox, sim->daemon.outbox, record->outbox_count * sizeof *record->outbox);
    record_derive(record);
    check_remedies(sim, record->workflow);
    check_holds(sim, record->workflow);
    check_seats(sim, record->workflow);
    check_matrix(sim, record->workflow);
}

/* --- Effects ---------------------------------------------------------------------------------- */

static void carry_submit(struct sim *sim, const struct run *run,
                         const struct allocation *allocation)
{
    uint32_t id = 0;
    unsigned folder = token_number(allocation->seat->token);
    enum sim_answer answer = SIM_LIMITED;
    if (!run->has_begun && run->state != RUN_ENDED) {
        sim->folder_of[token_number(allocation->token)] = folder;
        struct sim_folder *made = folder_make_for(sim, run);
        if (!sim->claim[folder]) /* otherwise it belongs to the lead */
            sim->current[folder] = made;
        bool is_refused = sim->lacks_type && text_equal(allocation->gpu_type, "b");
        answer = is_refused ? SIM_REFUSED
                            : slurm_submit(sim, allocation->token, allocation->time_s, &id);
    }
    static const enum core_event_kind kinds[] = {
        [SIM_DONE] = EV_SUBMITTED,
        [SIM_NO_ANSWER] = EV_UNSURE,
        [SIM_LIMITED] = EV_LIMITED,
        [SIM_REFUSED] = EV_REFUSED,
    };
    daemon_post_job(sim, kinds[answer], allocation->id, id);
}

static void carry_lookup(struct sim *sim, const struct allocation *allocation)
{
    uint32_t id = 0;
    enum sim_answer answer = slurm_lookup(sim, allocation->token, &id);
    daemon_post_job(sim,
                    answer == SIM_DONE     ? EV_SUBMITTED
                    : answer == SIM_ABSENT ? EV_UNKNOWN
                                           : EV_UNSURE,
                    allocation->id, id);
}

static void carry_read_outcome(struct sim *sim, const struct run *run)
{
    const struct sim_folder *folder = folder_find(sim, run->id);
    struct sim_event event = {.event = {.kind = EV_RUN_SILENT, .step = -1}, .phase = -1};
    struct core_event told[6];
    unsigned count = 0;
    if (folder && folder->has_started)
        told[count++] = started_event(folder);
    if (folder && folder->good_step >= 0)
        told[count++] = checkpoint_event(folder->good_step);
    if (folder && folder->suspect_since >= 0)
        told[count++] = suspect_event(folder);
    if (folder && folder->holds)
        told[count++] = hold_event();
    if (folder && folder->checkpoint_step >= 0)
        told[count++] = checkpoint_event(folder->checkpoint_step);
    told[count++] = folder && folder->ended ? ended_event(folder) : event.event;
    event.run = run->id;
    for (unsigned i = 0; i < count; i++) {
        event.event = told[i];
        daemon_post(sim, event);
    }
}

static void carry_seal(struct sim *sim, const struct run *run)
{
    struct sim_folder *folder = folder_find(sim, run->id);
    if (!folder && !run->has_begun && !folder_at(sim, run->phase->index, run->attempt))
        folder = folder_make_for(sim, run);
    if (folder)
        folder->is_sealed = true;
    daemon_post(sim, (struct sim_event){.event = {.kind = EV_SEALED}, .phase = -1, .run = run->id});
}

static void carry_judge(struct sim *sim, const struct phase *phase)
{
    if (phase->members) {
        bool is_wanted = phase->is_overridden && phase->members->best;
        enum gate_result gate =
            sim_fault(sim, 4) && !is_wanted ? GATE_FAILED + sim_below(sim, 2) : GATE_PASSED;
        daemon_post(sim, (struct sim_event){.event = {.kind = EV_JUDGED, .gate = gate},
                                            .phase = (int)phase->index});
        return;
    }
    sim->gate[phase->index] =
        sim_chance(sim, 5) ? (int)GATE_FAILED + (int)sim_below(sim, 3) : (int)GATE_PASSED;
    daemon_post(sim, (struct sim_event){
                         .event = {.kind = EV_JUDGED,
                                   .gate = (enum gate_result)sim->gate[phase->index],
                                   .checks = sim->gate[phase->index] == GATE_FAILED ? "low" : ""},
                         .phase = (int)phase->index});
}

/* A run that continues in an allocation, or joins one. */
static void carry_next(struct sim *sim, const struct run *run)
{
    struct sim_folder *folder = folder_make_for(sim, run);
    unsigned token = token_number(run->seat->token);
    if (seat_is_joined(run->seat) && !sim->current[token]) {
        sim->current[token] = folder;
        sim->host[token] = token_number(run->seat->allocation->token);
    }
    if (folder->has_started)
        carry_read_outcome(sim, run);
}

/* As launch/answers.c does. Polls show what happened. */
static void carry_cancel(struct sim *sim, const struct allocation *allocation)
{
    struct sim_daemon *daemon = &sim->daemon;
    if (slurm_cancel(sim, allocation->slurm_id, allocation->token) == SIM_DONE)
        return;
    struct sim_outbox *row =
        outbox_find(daemon->outbox, daemon->outbox_count, FX_CANCEL_JOB, allocation->id);
    if (row)
        row->due_ms = daemon_now_ms(sim) + CANCEL_RETRY_MS;
}

void daemon_carry(struct sim *sim, const struct sim_outbox *row)
{
    const struct workflow *workflow = daemon_workflow(sim);
    enum core_about about = core_effect_rows[row->kind].about;
    const struct run *run = about == ABOUT_RUN ? daemon_run(sim, row->target) : NULL;
    const struct allocation *allocation =
        about == ABOUT_JOB ? daemon_allocation(sim, row->target) : NULL;
    switch (row->kind) {
    case FX_SUBMIT:
        if (row->is_doubtful)
            daemon_post_job(sim, EV_UNSURE, row->target, 0);
        else
            carry_submit(sim, allocation_run(allocation), allocation);
        break;
    case FX_LOOKUP:
        carry_lookup(sim, allocation);
        break;
    case FX_CANCEL_JOB:
        carry_cancel(sim, allocation);
        break;
    case FX_READ_OUTCOME:
        carry_read_outcome(sim, run);
        break;
    case FX_SEAL:
        carry_seal(sim, run);
        break;
    case FX_JUDGE:
        for (size_t i = 0; i < workflow->phase_count; i++)
            if (workflow->phases[i].id == row->target)
                carry_judge(sim, &workflow->phases[i]);
        break;
    case FX_REMEDY:
        daemon_post(sim, (struct sim_event){.event = {.kind = EV_REMEDIED},
                                            .phase = (int)run->phase->index});
        break;
    case FX_TELL_NEXT:
        carry_next(sim, run);
        break;
    case FX_BEGIN_JOB:
        slurm_begin(sim, allocation->slurm_id, allocation->token);
        break;
    default: /* the leads ask for it: daemon_ask() */
        break;
    }
}

/* Carries out a batch. The daemon can die, or be paused, before each effect. */
static void daemon_carry_all(struct sim *sim, const struct sim_outbox *rows, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (sim_fault(sim, 100)) {
            daemon_crash(sim, sim_chance(sim, 2) ? 1 : sim_below(sim, 900));
            return;
        }
        if (!sim->pause.daemon.core && sim_fault(sim, 25)) {
            daemon_pause(sim, &rows[i], count - i);
            return;
        }
        daemon_carry(sim, &rows[i]);
    }
}

/* --- Events ----------------------------------------------------------------------------------- */

/* Steps, commits and carries out. False: nothing was committed. */
static bool daemon_handle(struct sim *sim, const struct sim_event *from)
{
    struct sim_daemon *daemon = &sim->daemon;
    struct core_event event = from->event;
    struct core_effects effects = {0};
    event.now_ms = daemon_now_ms(sim);
    event.workflow = daemon_workflow(sim);
    event.phase = from->phase >= 0 ? &event.workflow->phases[from->phase] : NULL;
    event.run = from->run ? daemon_run(sim, from->run) : NULL;
    event.allocation = from->job ? daemon_allocation(sim, from->job) : NULL;
    assert(!from->run || event.run);
    struct workflow *revision =
        event.kind == EV_REMEDIED ? remedy_revision(sim, event.workflow, event.phase->index) : NULL;
    int remedy = -1; /* its index */
    if (revision && event.phase->remedy)
        remedy = (int)(event.phase->remedy - event.phase->remedies);
    event.revision = revision;
    struct phase *left[SIM_PHASES];
    struct core_choice choice = {.members = left};
    bool is_choice = event.kind == EV_JUDGED && event.phase->members &&
                     event.phase->state == PHASE_DECIDING && event.gate == GATE_PASSED;
    if (is_choice) {
        matrix_choose(event.phase->members, &choice, left);
        event.choice = &choice;
        event.revision = revision = choice.goes_on ? workflow_copy(event.workflow) : NULL;
    }
    core_decide(daemon->core, &event, &effects);
    workflow_free(revision);
    if (sim_fault(sim, 200)) { /* the disk is full, or the daemon dies before the commit */
        core_effects_fini(&effects);
        daemon_crash(sim, sim_chance(sim, 2) ? 1 : sim_below(sim, 900));
        return false;
    }
    if (choice.goes_on)
        matrix_climbed(sim, &choice);
    if (remedy >= 0)
        remedy_taken(sim, &event.workflow->phases[from->phase], remedy);
    daemon_commit(sim, &effects);
    struct sim_outbox rows[SIM_OUTBOX_MAX];
    unsigned count = 0;
    for (size_t i = 0; i < effects.count; i++) {
        const struct core_effect *effect = &effects.items[i];
        if (core_effect_rows[effect->kind].is_kept && !effect->is_done && !effect->due_ms) {
            assert(count < SIM_OUTBOX_MAX);
            rows[count++] = (struct sim_outbox){effect->kind, core_effect_target(effect), 0, false};
        }
    }
    core_effects_fini(&effects);
    daemon_carry_all(sim, rows, count);
    return true;
}

/* Handles all due events, in any order. */
static void daemon_drain(struct sim *sim)
{
    struct sim_daemon *daemon = &sim->daemon;
    for (unsigned i = 0; daemon->core && i < daemon->queue_count;) {
        if (daemon->queue[i].due > sim->now) {
            i++;
            continue;
        }
        struct sim_event event = daemon->queue[i];
        bool is_answer = event.event.kind <= EV_UNKNOWN; /* a request has exactly one answer */
        if (is_answer || !sim_fault(sim, 30)) {          /* otherwise the event comes twice */
            daemon->queue_count--;
            memmove(&daemon->queue[i], &daemon->queue[i + 1],
                    (daemon->queue_count - i) * sizeof *daemon->queue);
        }
        (void)daemon_handle(sim, &event);
        i = 0;
    }
}

/* Posts what the controller says of the job, if the core has a use for that. */
static void daemon_post_seen(struct sim *sim, struct allocation *allocation,
                             const struct sim_job *job)
{
    struct core_event event = {
        .kind = EV_JOB_SEEN,
        .now_ms = daemon_now_ms(sim),
        .allocation = allocation,
        .slurm_id = job->id,
        .seen = {.state = job->shown,
                 .is_final = job->state == SIM_OVER,
                 .is_waiting = job->state == SIM_PENDING && job->was_requeued && !job->is_held,
                 .is_stuck = job->is_held,
                 .restarts = job->restarts,
                 .started_ms = world_ms(job->started)}};
    if (!core_job_is_news(&event))
        return;
    event.allocation = NULL;
    daemon_post(sim, (struct sim_event){.event = event, .phase = -1, .job = allocation->id});
}

/* As launch/answers.c does. A second job with the token changes nothing, until the first one is
 * over. */
static void daemon_look_at(struct sim *sim, struct allocation *allocation, bool is_empty)
{
    bool is_there = false;
    for (unsigned i = sim->job_count; !is_empty && i-- > 0;) {
        const struct sim_job *job = &sim->jobs[i];
        if (!job->is_known || !text_equal(job->token, allocation->token) ||
            (allocation->slurm_id != job->id && !allocation->ended))
            continue;
        daemon_post_seen(sim, allocation, job);
        is_there = true;
    }
    if (!is_there && core_job_is_missed(allocation))
        daemon_post(sim, (struct sim_event){
                             .event = {.kind = EV_JOB_ABSENT}, .phase = -1, .job = allocation->id});
}

static void daemon_poll(struct sim *sim)
{
    const struct workflow *workflow = daemon_workflow(sim);
    if (!slurm_answers(sim))
        return;
    bool is_empty = sim->was_empty = sim_fault(sim, sim->was_empty ? 3 : 30);
    for (size_t i = 0; i < workflow->allocation_count; i++)
        daemon_look_at(sim, workflow->allocations[i], is_empty);
}

/* False: the daemon died meanwhile. */
static bool daemon_take_clock(struct sim *sim, int64_t by_ms)
{
    struct sim_event event = {.event = {.kind = EV_CLOCK, .step = by_ms}, .phase = -1};
    for (unsigned i = 0; i < sim->daemon.outbox_count; i++)
        if (sim->daemon.outbox[i].due_ms)
            sim->daemon.outbox[i].due_ms += by_ms;
    return daemon_handle(sim, &event);
}

void daemon_set_clock(struct sim *sim)
{
    static const int64_t hours[] = {1, -1, 96, -96};
    int64_t by_ms = hours[sim_below(sim, 4)] * 3600 * 1000;
    sim->daemon.clock_ms += by_ms;
    sim_say(sim, "daemon: its clock is set by %lld s", (long long)by_ms / 1000);
    if (sim->daemon.core)
        (void)daemon_take_clock(sim, by_ms);
}

void daemon_start(struct sim *sim)
{
    struct sim_daemon *daemon = &sim->daemon;
    struct core_config config = {.token = daemon_token, .context = sim, .last_workflow = 1};
    for (size_t i = 0; i < sim->record.workflow->run_count; i++)
        config.last_run = sim->record.workflow->runs[i]->id;
    for (size_t i = 0; i < sim->record.workflow->seat_count; i++)
        config.last_seat = sim->record.workflow->seats[i]->id;
    for (size_t i = 0; i < sim->record.workflow->allocation_count; i++)
        config.last_job = sim->record.workflow->allocations[i]->id;
    daemon->core = core_new(&config);
    core_add(daemon->core, workflow_copy(sim->record.workflow));
    daemon->next_poll = sim->now;
    daemon->lease = ++sim->record.lease;
    daemon->outbox_count = sim->record.outbox_count;
    memcpy(daemon->outbox, sim->record.outbox, daemon->outbox_count * sizeof *daemon->outbox);
    sim_say(sim, "daemon: starts, %u in the outbox", daemon->outbox_count);
    if (!daemon_take_clock(sim, 0) || !daemon->core)
        return;
    struct sim_outbox rows[SIM_OUTBOX_MAX];
    unsigned count = 0;
    for (unsigned i = 0; i < daemon->outbox_count; i++) {
        struct sim_outbox *row = &daemon->outbox[i];
        int64_t latest_ms =
            daemon_now_ms(sim) + (row->kind == FX_LOOKUP ? LOOKUP_LAST_MS : PAUSE_LAST_MS);
        if (row->due_ms > latest_ms)
            row->due_ms = latest_ms;
        if (row->kind == FX_SUBMIT || row->kind == FX_LOOKUP)
            daemon_allocation(sim, row->target)->is_asked = true;
        row->is_doubtful = row->kind == FX_SUBMIT;
        if (!row->due_ms)
            rows[count++] = *row;
    }
    daemon_carry_all(sim, rows, count);
}

/* Repeats effects of the outbox that are due. */
static void daemon_repeat(struct sim *sim)
{
    struct sim_daemon *daemon = &sim->daemon;
    struct sim_outbox rows[SIM_OUTBOX_MAX];
    unsigned count = 0;
    for (unsigned i = 0; i < daemon->outbox_count; i++) {
        struct sim_outbox *row = &daemon->outbox[i];
        bool is_due = row->due_ms && row->due_ms <= daemon_now_ms(sim);
        if (!is_due)
            continue;
        rows[count++] = *row;
        row->due_ms = 0; /* in progress */
    }
    daemon_carry_all(sim, rows, count);
}

void daemon_begin(struct sim *sim, struct workflow *workflow)
{
    struct core_config config = {.token = daemon_token, .context = sim};
    struct sim_event event = {.event = {.kind = EV_ADDED, .hold = sim_chance(sim, 8)}, .phase = -1};
    sim->daemon.core = core_new(&config);
    core_add(sim->daemon.core, workflow);
    bool has_faults = sim->has_faults;
    sim->has_faults = false; /* the submitter learns of a failed submission */
    if (!daemon_handle(sim, &event))
        sim_breach(sim, "the first commit failed");
    sim->has_faults = has_faults;
    unsigned submissions = 0;
    bool is_swept_apart = sim->is_swept && workflow->phases[SIM_PHASES].members->lanes == 0;
    bool is_double = sim->has_candidates || is_swept_apart;
    for (unsigned i = 0; i < sim->daemon.outbox_count; i++)
        submissions += sim->daemon.outbox[i].kind == FX_SUBMIT;
    if (submissions != (event.event.hold ? 0 : is_double ? 2 : 1))
        sim_breach(sim, "%u jobs are submitted for the first phases", submissions);
}

void daemon_turn(struct sim *sim)
{
    struct sim_daemon *daemon = &sim->daemon;
    if (sim->now >= daemon->next_poll) {
        daemon_poll(sim);
        bool is_busy = core_is_busy(daemon->core, daemon_now_ms(sim));
        daemon->next_poll = sim->now + (is_busy ? 2 : 30);
    }
    if (core_deadline(daemon->core) <= daemon_now_ms(sim))
        daemon_post(sim, (struct sim_event){.event = {.kind = EV_TIME}, .phase = -1});
    daemon_repeat(sim);
    daemon_drain(sim);
}

void daemon_tick(struct sim *sim)
{
    struct sim_daemon *daemon = &sim->daemon;
    daemon_wake(sim);
    if (!daemon->core && sim->now >= daemon->up_at)
        daemon_start(sim);
    if (daemon->core && sim_fault(sim, 2000))
        daemon_crash(sim, sim_below(sim, sim_chance(sim, 5) ? 8000 : 300));
    if (daemon->core)
        daemon_turn(sim);
}

void daemon_end(struct sim *sim)
{
    core_free(sim->daemon.core);
    core_free(sim->pause.daemon.core);
    workflow_free(sim->record.workflow);
}

/* --- Leads and persons ------------------------------------------------------------------------ */

/* The daemon is away, or the message or its answer is lost. */
bool daemon_take(struct sim *sim, struct core_event event, const struct sim_folder *folder)
{
    if (!sim->daemon.core || sim_fault(sim, 20))
        return false;
    struct sim_event taken = {.event = event, .phase = -1, .run = folder->run};
    bool is_committed = daemon_handle(sim, &taken);
    daemon_drain(sim);
    return is_committed && !sim_fault(sim, 20);
}

int daemon_ask(struct sim *sim, uint64_t run, uint64_t *ret_next)
{
    const struct sim_daemon *daemon = &sim->daemon;
    if (!daemon->core || sim_fault(sim, 20))
        return -2;
    const struct run *asker = daemon_run(sim, run);
    int verb = -1;
    /* The newest run of the same seat comes first. A lead that was alone is also told of a run that
     * has begun. */
    const struct run *newest = seat_run(asker->seat);
    if (newest != asker && folder_find(sim, newest->id)) {
        *ret_next = newest->id;
        return FX_TELL_NEXT;
    }
    if (asker->state == RUN_ENDED && asker->seat->allocation->ended)
        return FX_TELL_STOP;
    for (unsigned i = 0; i < daemon->outbox_count; i++) {
        const struct sim_outbox *row = &daemon->outbox[i];
        if ((row->kind == FX_TELL_STOP || row->kind == FX_TELL_END) && row->target == run)
            verb = (int)row->kind;
    }
    return verb;
}

void daemon_command(struct sim *sim, unsigned phase, enum phase_command command)
{
    struct sim_event event = {.event = {.kind = EV_COMMAND, .command = command, .message = "anna"},
                              .phase = (int)phase};
    if (!sim->daemon.core ||
        core_command_check(&daemon_workflow(sim)->phases[phase], command, NULL) < 0)
        return;
    bool was_by_person = sim->by_person[phase];
    if (command == COMMAND_PROMOTE && daemon_record(sim)->phases[phase].state == PHASE_HELD)
        sim->by_person[phase] = true;
    if (!daemon_handle(sim, &event)) { /* a full disk refuses it, and the person tries again */
        sim->by_person[phase] = was_by_person;
        return;
    }
    const struct phase *after = &daemon_record(sim)->phases[phase];
    if (after->members && after->state == PHASE_HELD)
        sim_breach(sim, "the matrix does not %s", phase_command_name(command));
}
