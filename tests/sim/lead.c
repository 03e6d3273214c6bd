/* The fake batch script and its leads. A lead trains a step a second, writes checkpoints and its
 * outcome to disk, and tells the daemon what it has written. Then it lingers for the next run. It
 * has its job requeued, and continues alone if no daemon answers. */
#include "tests/sim/sim.h"

#include <stdlib.h>

enum { LINGER_S = 20, ALONE_S = 10, ASK_S = 60, CLAIM_S = 120, ORPHAN_S = 16, STALLS_MAX = 3 };

unsigned token_number(const char *token)
{
    return (unsigned)strtoul(token, NULL, 16);
}

bool lead_trains(const struct sim_lead *lead)
{
    return lead->state == LEAD_TRAINING || lead->state == LEAD_STOPPING;
}

struct sim_folder *folder_find(struct sim *sim, uint64_t run)
{
    for (unsigned i = sim->folder_count; i-- > 0;)
        if (sim->folders[i].run == run)
            return &sim->folders[i];
    return NULL;
}

struct sim_folder *folder_at(struct sim *sim, unsigned phase, unsigned attempt)
{
    for (unsigned i = sim->folder_count; i-- > 0;)
        if (sim->folders[i].phase == phase && sim->folders[i].attempt == attempt)
            return &sim->folders[i];
    return NULL;
}

struct sim_folder *folder_make(struct sim *sim, unsigned phase, unsigned attempt,
                               int64_t begin_step)
{
    struct sim_folder *there = folder_at(sim, phase, attempt);
    if (there)
        return there;
    if (sim->folder_count == SIM_RUNS_MAX)
        sim_breach(sim, "too many runs");
    struct sim_folder *folder = &sim->folders[sim->folder_count++];
    *folder = (struct sim_folder){
        .phase = phase,
        .attempt = attempt,
        .begin_step = begin_step,
        .checkpoint_step = -1,
        .suspect_since = -1,
        .good_step = -1,
        .last_step = begin_step,
        .checkpoint_told = -1,
    };
    return folder;
}

/* A run that the lead of another job has made alone in the place of this run no longer counts. */
static void set_aside(struct sim *sim, const struct run *run)
{
    unsigned own = token_number(run->seat->allocation->seat->token);
    for (unsigned i = 0; i < sim->folder_count; i++) {
        struct sim_folder *folder = &sim->folders[i];
        if (folder->phase == run->phase->index && folder->attempt == run->attempt && !folder->run &&
            folder->job && sim->folder_of[token_number(folder->job->token)] != own)
            folder->attempt += SIM_RUNS_MAX;
    }
}

struct sim_folder *folder_make_for(struct sim *sim, const struct run *run)
{
    set_aside(sim, run);
    struct sim_folder *folder =
        folder_make(sim, run->phase->index, run->attempt, run->resume_path ? run->resume_step : -1);
    folder->run = run->id;
    return folder;
}

/* Returns the newest checkpoint of earlier attempts that is not suspect. Counts the attempts since
 * the phase last began anew. -1: there is no checkpoint. */
static int64_t newest_checkpoint(const struct sim *sim, unsigned phase, unsigned attempt)
{
    int64_t newest = -1;
    for (unsigned i = sim->fresh_from[phase]; i < sim->folder_count; i++) {
        const struct sim_folder *before = &sim->folders[i];
        if (before->phase == phase && before->attempt < attempt && before->good_step > newest)
            newest = before->good_step;
    }
    return newest;
}

static void check_other(const struct sim *sim, const struct sim_lead *lead,
                        const struct sim_lead *other)
{
    if (other == lead || !lead_trains(other))
        return;
    if (other->folder->phase == lead->folder->phase)
        sim_breach(sim, "jobs %u and %u train phase %u at once", other->job->id, lead->job->id,
                   lead->folder->phase);
    if (other->job == lead->job && !sim->is_beside)
        sim_breach(sim, "job %u trains both phases", other->job->id);
}

/* Two leads may never train the same phase at the same time. */
static void check_alone(struct sim *sim, const struct sim_lead *lead)
{
    for (unsigned i = 0; i < sim->job_count; i++)
        for (const struct sim_lead *other = sim->jobs[i].leads; other; other = other->next)
            check_other(sim, lead, other);
    for (const struct sim_lead *other = sim->orphans; other; other = other->next)
        if (other->folder->phase == lead->folder->phase)
            check_other(sim, lead, other);
}

static void check_begin(struct sim *sim, const struct sim_lead *lead)
{
    const struct sim_folder *folder = lead->folder;
    int64_t newest = newest_checkpoint(sim, folder->phase, folder->attempt);
    if (folder->begin_step != newest)
        sim_breach(
            sim, "attempt %u of phase %u begins at step %lld, but step %lld is the newest good one",
            folder->attempt, folder->phase, (long long)folder->begin_step, (long long)newest);
    if (folder->phase && !sim->is_beside && !sim->is_swept && !sim->successes[folder->phase - 1])
        sim_breach(sim, "phase %u begins before the one before it", folder->phase);
    if (lead->job->nodes != sim->nodes_wanted[folder->phase])
        sim_breach(sim, "phase %u runs on %u nodes", folder->phase, lead->job->nodes);
}

/* Whether the record says that the run has ended. */
static bool run_is_over(const struct sim *sim, const struct sim_folder *folder)
{
    const struct workflow *record = daemon_record(sim);
    for (size_t i = 0; i < record->run_count; i++)
        if (record->runs[i]->id == folder->run)
            return record->runs[i]->state == RUN_ENDED;
    return false;
}

/* Only the leads of such jobs may ever need the claim on the phase. */
static bool job_is_odd(const struct sim_job *job)
{
    return job->came_back || job->has_twin || job->is_late || job->had_orphans;
}

/* Whether another lead has claimed the phase, or a program that has lost its lead still runs. */
static bool phase_is_claimed(const struct sim *sim, const struct sim_lead *lead,
                             const struct sim_folder *folder)
{
    for (const struct sim_lead *other = sim->orphans; other; other = other->next)
        if (other->folder->phase == folder->phase)
            return true;
    for (unsigned i = 0; i < sim->job_count; i++)
        for (const struct sim_lead *other = sim->jobs[i].leads; other; other = other->next)
            if (other != lead && (job_is_odd(other->job) || job_is_odd(lead->job)) &&
                lead_trains(other) && other->folder->phase == folder->phase)
                return true;
    return false;
}

/* Whether a later run has claimed the phase. */
static bool phase_has_gone_on(const struct sim *sim, const struct sim_lead *lead,
                              const struct sim_folder *folder)
{
    for (unsigned i = 0; i < sim->folder_count; i++)
        if (job_is_odd(lead->job) && sim->folders[i].phase == folder->phase &&
            sim->folders[i].has_started && sim->folders[i].attempt > folder->attempt)
            return true;
    return false;
}

static void lead_begin(struct sim *sim, struct sim_lead *lead, struct sim_folder *folder);

static void lead_open(struct sim *sim, struct sim_lead *lead, struct sim_folder *folder)
{
    if (folder->is_sealed || phase_has_gone_on(sim, lead, folder)) {
        lead->state = LEAD_GONE;
    } else if (phase_is_claimed(sim, lead, folder)) {
        if (lead->state != LEAD_WAITING)
            lead->until = sim->now + CLAIM_S;
        lead->folder = folder;
        lead->state = sim->now < lead->until ? LEAD_WAITING : LEAD_GONE;
    } else {
        lead_begin(sim, lead, folder);
    }
}

/* The run before may have saved more after the daemon had read its folder, if its job came back or
 * has a twin. So the lead looks at the checkpoints once more. */
static void lead_look_again(const struct sim *sim, struct sim_folder *folder)
{
    int64_t newest = newest_checkpoint(sim, folder->phase, folder->attempt);
    for (unsigned i = sim->fresh_from[folder->phase]; i < sim->folder_count; i++) {
        const struct sim_folder *before = &sim->folders[i];
        if (before->phase != folder->phase || before->attempt >= folder->attempt || !before->job ||
            !job_is_odd(before->job) || before->good_step != newest || newest <= folder->begin_step)
            continue;
        folder->begin_step = folder->last_step = newest;
        folder->looked_again = true;
    }
}

static void lead_begin(struct sim *sim, struct sim_lead *lead, struct sim_folder *folder)
{
    if (sim->daemon.core && run_is_over(sim, folder))
        sim_breach(sim, "attempt %u of phase %u begins after its end", folder->attempt,
                   folder->phase);
    if (folder->has_started)
        sim_breach(sim, "attempt %u of phase %u starts a second time", folder->attempt,
                   folder->phase);
    lead_look_again(sim, folder);
    sim->current[lead->token] = folder;
    lead->folder = folder;
    lead->state = LEAD_TRAINING;
    lead->fails_at = 0;
    if (folder->run)
        lead->channel = folder->run;
    if (sim_fault(sim, 12)) {
        lead->fails_at = folder->begin_step + 1 + sim_below(sim, 60);
        static const enum run_cause causes[] = {CAUSE_EXIT, CAUSE_NODE_FAIL, CAUSE_GUARD};
        lead->fails_of = causes[sim_below(sim, 3)];
    }
    folder->has_started = true;
    folder->job = lead->job;
    folder->token = lead->token;
    folder->restarts = lead->job->restarts;
    sim_say(sim, "lead of job %u: attempt %u of phase %u from step %lld%s", lead->job->id,
            folder->attempt, folder->phase, (long long)folder->begin_step,
            folder->was_alone ? ", alone" : "");
    check_alone(sim, lead);
    check_begin(sim, lead);
}

static void lead_write_outcome(struct sim *sim, const struct sim_lead *lead,
                               enum run_outcome outcome, enum run_cause cause, bool requeues)
{
    struct sim_folder *folder = lead->folder;
    folder->outcome = outcome;
    folder->cause = cause;
    folder->ended = sim->now;
    folder->requeues = requeues;
    sim_say(sim, "lead of job %u: attempt %u of phase %u %s at step %lld", lead->job->id,
            folder->attempt, folder->phase, run_outcome_name(outcome),
            (long long)folder->last_step);
}

/* Starts a lead for the job's own folder, or for the folder of a guest. */
static void lead_start(struct sim *sim, struct sim_job *job, unsigned token)
{
    struct sim_folder *folder = sim->current[token];
    if (!folder)
        sim_breach(sim, "job %u finds no folder of a run", job->id);
    if (sim->lead_count == SIM_LEADS_MAX)
        sim_breach(sim, "too many leads");
    struct sim_lead *lead = &sim->leads[sim->lead_count++];
    *lead = (struct sim_lead){.job = job,
                              .next = job->leads,
                              .token = token,
                              .folder = folder,
                              .channel = folder->run,
                              .heard_at = sim->now};
    if (!lead->channel) { /* made alone: it uses the channel of the lead that made it */
        for (unsigned i = 0; i < sim->folder_count; i++)
            if (sim->folders[i].phase == folder->phase && sim->folders[i].run)
                lead->channel = sim->folders[i].run;
    }
    job->leads = lead;
    job->nodes = sim->nodes_wanted[folder->phase];
    lead->state = LEAD_ASKING;
    if (!folder->has_started || folder->is_sealed) {
        lead_open(sim, lead, folder);
        return;
    }
    if (!folder->ended) /* the lead was killed with its job, which runs again already */
        lead_write_outcome(sim, lead, OUTCOME_PREEMPTED, CAUSE_NONE, true);
    lead->until = sim->now + ASK_S;
}

static void lead_stop(struct sim *sim, struct sim_lead *lead, enum run_outcome outcome,
                      enum run_cause cause)
{
    lead->state = LEAD_STOPPING;
    lead->stop_outcome = outcome;
    lead->stop_cause = cause;
    lead->until = sim->now + 1 + sim_below(sim, 7); /* may be too late for the grace */
}

static void lead_term(struct sim *sim, struct sim_lead *lead, enum run_outcome outcome)
{
    if (lead->state == LEAD_LINGERING)
        lead->state = LEAD_GONE;
    if (lead->state != LEAD_TRAINING)
        return;
    lead_stop(sim, lead, outcome, CAUSE_NONE);
}

/* Ends a lead. Other leads keep the allocation. If the lead wants to continue in it, the others are
 * stopped so that the job can be requeued. */
static void lead_leave(struct sim *sim, struct sim_lead *lead, bool wants_requeue)
{
    lead->state = LEAD_GONE;
    if (!wants_requeue)
        return;
    lead->job->wants_requeue = true;
    for (struct sim_lead *other = lead->job->leads; other; other = other->next)
        lead_term(sim, other, OUTCOME_PREEMPTED);
}

static bool made_step(const struct sim_folder *folder)
{
    return folder->last_step > folder->begin_step;
}

/* How many attempts in a row, up to this attempt, made no step. */
static unsigned lead_stalls(struct sim *sim, const struct sim_folder *folder)
{
    unsigned count = 0;
    for (; folder && !made_step(folder); count++)
        folder = folder_at(sim, folder->phase, folder->attempt - 1);
    return count;
}

static void lead_end(struct sim *sim, struct sim_lead *lead, enum run_outcome outcome,
                     enum run_cause cause)
{
    const struct sim_folder *folder = lead->folder;
    bool requeues = outcome == OUTCOME_PREEMPTED
                        ? lead_stalls(sim, folder) < STALLS_MAX
                        : outcome == OUTCOME_TIMED_OUT && made_step(folder);
    lead_write_outcome(sim, lead, outcome, cause, requeues);
    lead->state = requeues ? LEAD_LEAVING : LEAD_LINGERING;
    lead->until = sim->now + (requeues ? 2 : LINGER_S);
}

static void lead_save(struct sim *sim, struct sim_folder *folder)
{
    if (run_is_over(sim, folder)) /* nobody will learn it */
        return;
    folder->checkpoint_step = folder->last_step;
    if (folder->suspect_since < 0)
        folder->good_step = folder->last_step;
}

/* The guard judges a window of steps, so older checkpoints are suspect, too. */
static void lead_break_guard(struct sim *sim, struct sim_lead *lead)
{
    struct sim_folder *folder = lead->folder;
    if (!run_is_over(sim, folder)) { /* nobody will learn it */
        int64_t since = folder->last_step - sim_below(sim, 2 * SIM_CHECKPOINT_STEPS);
        folder->suspect_since = since > folder->begin_step ? since : folder->begin_step + 1;
        int64_t good = folder->suspect_since - 1;
        while (good > folder->begin_step && good % SIM_CHECKPOINT_STEPS != 0)
            good--;
        if (good < folder->good_step)
            folder->good_step = good > folder->begin_step ? good : -1;
        sim_say(sim, "lead of job %u: a guard breaks, step %lld and later are suspect",
                lead->job->id, (long long)folder->suspect_since);
    }
    lead_stop(sim, lead, OUTCOME_FAILED, CAUSE_GUARD);
}

static void lead_train(struct sim *sim, struct sim_lead *lead)
{
    struct sim_folder *folder = lead->folder;
    int64_t step = ++folder->last_step;
    bool fails = lead->fails_at && step >= lead->fails_at;
    if (fails && lead->fails_of == CAUSE_GUARD) {
        lead_break_guard(sim, lead);
        return;
    }
    if (fails) {
        lead_end(sim, lead, OUTCOME_FAILED, lead->fails_of);
        return;
    }
    if (sim_fault(sim, 2000)) {
        folder->holds = true;
        lead_stop(sim, lead, OUTCOME_CANCELLED, CAUSE_NONE);
        return;
    }
    bool is_last = step >= sim->steps_wanted[folder->phase];
    if (is_last || step % SIM_CHECKPOINT_STEPS == 0)
        lead_save(sim, folder);
    if (is_last)
        lead_end(sim, lead, OUTCOME_SUCCEEDED, CAUSE_NONE);
}

/* Whether the daemon knows this checkpoint, or learns of it now. */
static bool lead_tell_checkpoint(struct sim *sim, struct sim_folder *folder, int64_t step)
{
    if (folder->checkpoint_told < step && daemon_take(sim, checkpoint_event(step), folder))
        folder->checkpoint_told = step;
    return folder->checkpoint_told >= step;
}

/* Tells in the order of the events, as journals do. */
static void lead_tell(struct sim *sim, struct sim_folder *folder)
{
    if (!folder->run)
        return;
    if (!folder->started_told)
        folder->started_told = daemon_take(sim, started_event(folder), folder);
    if (!folder->started_told || !lead_tell_checkpoint(sim, folder, folder->good_step))
        return;
    bool is_suspect = folder->suspect_since >= 0;
    if (is_suspect && !folder->suspect_told)
        folder->suspect_told = daemon_take(sim, suspect_event(folder), folder);
    if (is_suspect && !folder->suspect_told)
        return;
    if (folder->holds && !folder->hold_told)
        folder->hold_told = daemon_take(sim, hold_event(), folder);
    if (folder->holds && !folder->hold_told)
        return;
    if (!folder->ended && folder->last_step % SIM_CHECKPOINT_STEPS == 1)
        (void)daemon_take(sim, progress_event(folder), folder); /* or with a later step */
    if (lead_tell_checkpoint(sim, folder, folder->checkpoint_step) && folder->ended &&
        !folder->ended_told)
        folder->ended_told = daemon_take(sim, ended_event(folder), folder);
}

/* No daemon answers, so the lead makes the next attempt itself. */
static void lead_go_on_alone(struct sim *sim, struct sim_lead *lead)
{
    const struct sim_folder *old = lead->folder;
    int64_t from = newest_checkpoint(sim, old->phase, old->attempt + 1);
    struct sim_folder *folder = folder_make(sim, old->phase, old->attempt + 1, from);
    if (folder->has_started && folder->token != lead->token) { /* the lead of another job made it */
        lead_leave(sim, lead, false);
        return;
    }
    if (!folder->run)
        folder->was_alone = true;
    lead_open(sim, lead, folder);
}

static void lead_obey(struct sim *sim, struct sim_lead *lead)
{
    uint64_t next;
    int verb = daemon_ask(sim, lead->channel, &next);
    bool waits = lead->state == LEAD_LINGERING || lead->state == LEAD_ASKING;
    if (verb != -2)
        lead->heard_at = sim->now;
    if (verb == FX_TELL_STOP && lead->folder->run == lead->channel) {
        lead_term(sim, lead, OUTCOME_CANCELLED);
    } else if (verb == FX_TELL_NEXT) {
        struct sim_folder *folder = folder_find(sim, next);
        if (folder == lead->folder) /* it was made alone, and the daemon knows it now */
            lead->channel = next;
        else if (waits && !folder->has_started)
            lead_open(sim, lead, folder);
    } else if (verb == FX_TELL_END && waits) {
        lead_leave(sim, lead, false);
    }
}

static void lead_tick(struct sim *sim, struct sim_lead *lead)
{
    if (lead->state == LEAD_WAITING)
        lead_open(sim, lead, lead->folder);
    if (lead->state == LEAD_GONE || lead->state == LEAD_WAITING)
        return;
    if (lead->state == LEAD_TRAINING)
        lead_train(sim, lead);
    if (lead->state == LEAD_STOPPING && sim->now >= lead->until) {
        lead_save(sim, lead->folder);
        bool is_fooled = lead->stop_outcome == OUTCOME_PREEMPTED && sim_fault(sim, 10);
        lead_end(sim, lead, is_fooled ? OUTCOME_CANCELLED : lead->stop_outcome, lead->stop_cause);
    }
    lead_tell(sim, lead->folder);
    lead_obey(sim, lead);
    bool is_over = sim->now >= lead->until;
    switch (lead->state) {
    case LEAD_LEAVING:
        if (lead->folder->ended_told || is_over)
            lead_leave(sim, lead, true);
        break;
    case LEAD_ASKING:
        if (sim->now >= lead->heard_at + ALONE_S && lead->folder->requeues)
            lead_go_on_alone(sim, lead);
        else if (is_over)
            lead_leave(sim, lead, false);
        break;
    case LEAD_LINGERING:
        if (is_over || (lead->folder->outcome != OUTCOME_SUCCEEDED && lead->folder->ended_told))
            lead_leave(sim, lead, false);
        break;
    default:
        break;
    }
}

/* --- Lost nodes ------------------------------------------------------------------------------- */

void script_orphan(struct sim *sim, struct sim_job *job)
{
    struct sim_lead *next;
    for (struct sim_lead *lead = job->leads; lead; lead = next) {
        next = lead->next;
        if (!lead_trains(lead) || sim_chance(sim, 2))
            continue;
        sim_say(sim, "node of job %u: attempt %u of phase %u goes on", job->id,
                lead->folder->attempt, lead->folder->phase);
        lead->until = sim->now + 1 + sim_below(sim, ORPHAN_S);
        lead->next = sim->orphans;
        sim->orphans = lead;
        job->had_orphans = true;
    }
}

/* The program trains and saves until its agents stop the program. The agents tell which checkpoints
 * there are. Nobody writes an outcome. */
void orphans_tick(struct sim *sim)
{
    for (struct sim_lead **at = &sim->orphans; *at;) {
        struct sim_lead *lead = *at;
        struct sim_folder *folder = lead->folder;
        if (sim->now >= lead->until) {
            lead->state = LEAD_GONE;
            *at = lead->next;
            continue;
        }
        bool is_last = folder->last_step + 1 >= sim->steps_wanted[folder->phase];
        if (!folder->ended && !is_last && ++folder->last_step % SIM_CHECKPOINT_STEPS == 0)
            lead_save(sim, folder);
        if (!folder->ended)
            lead_tell(sim, folder);
        at = &lead->next;
    }
}

/* --- The batch script ------------------------------------------------------------------------- */

/* At most one job serves a folder, however many jobs have its token. */
static void check_server(const struct sim *sim, const struct sim_job *job, unsigned number)
{
    for (unsigned i = 0; i < sim->job_count; i++)
        for (const struct sim_lead *lead = sim->jobs[i].leads; lead; lead = lead->next)
            if (lead->job != job && lead->token == number && lead->state != LEAD_GONE)
                sim_breach(sim, "jobs %u and %u serve the same folder", lead->job->id, job->id);
}

void script_start(struct sim *sim, struct sim_job *job)
{
    unsigned number = token_number(job->token);
    if (sim->folder_of[number])
        number = sim->folder_of[number];
    if (sim->claim[number] && sim->claim[number] != job) { /* another job serves this folder */
        slurm_job_done(sim, job);
        return;
    }
    sim->claim[number] = job;
    check_server(sim, job, number);
    lead_start(sim, job, number);
}

void script_term(struct sim *sim, struct sim_job *job, enum run_outcome outcome)
{
    for (struct sim_lead *lead = job->leads; lead; lead = lead->next)
        lead_term(sim, lead, outcome);
}

/* Starts leads for guests that have joined. */
static void script_look(struct sim *sim, struct sim_job *job)
{
    for (unsigned token = 1; token <= sim->tokens; token++) {
        bool is_there =
            sim->host[token] != token_number(job->token); /* a guest has no candidates */
        for (struct sim_lead *lead = job->leads; lead && !is_there; lead = lead->next)
            is_there = lead->token == token;
        if (!is_there)
            lead_start(sim, job, token);
    }
}

void script_tick(struct sim *sim, struct sim_job *job)
{
    bool is_over = true;
    if (job->shown == CLUSTER_JOB_PENDING) /* the controller has forgotten the start */
        script_term(sim, job, OUTCOME_PREEMPTED);
    if (sim_chance(sim, 2) && !job->wants_requeue)
        script_look(sim, job);
    for (struct sim_lead *lead = job->leads; lead; lead = lead->next)
        if (lead->state != LEAD_GONE)
            lead_tick(sim, lead);
    for (struct sim_lead *lead = job->leads; lead; lead = lead->next)
        is_over = is_over && lead->state == LEAD_GONE;
    if (is_over && !(job->wants_requeue && slurm_requeue(sim, job)))
        slurm_job_done(sim, job);
}
