/* The fake lead: trains a step a second, writes checkpoints and its outcome to disk, tells the
 * daemon what it has written, and lingers for what comes next. */
#include "tests/sim/sim.h"

#include <stdlib.h>

unsigned token_number(const char *token)
{
    return (unsigned)strtoul(token, NULL, 16);
}

struct sim_folder *folder_find(struct sim *sim, uint64_t run)
{
    for (unsigned i = sim->folder_count; i-- > 0;)
        if (sim->folders[i].run == run)
            return &sim->folders[i];
    return NULL;
}

struct sim_folder *folder_make(struct sim *sim, uint64_t run, unsigned phase, int64_t begin_step)
{
    struct sim_folder *folder = folder_find(sim, run);
    if (folder)
        return folder; /* made before a crash */
    if (sim->folder_count == SIM_RUNS_MAX)
        sim_breach(sim, "too many runs");
    folder = &sim->folders[sim->folder_count++];
    *folder = (struct sim_folder){
        .run = run,
        .phase = phase,
        .begin_step = begin_step,
        .checkpoint_step = -1,
        .last_step = begin_step,
        .checkpoint_told = -1,
    };
    return folder;
}

/* Two leads may never train the same phase at the same time, nor twice the same run. */
static void check_alone(struct sim *sim, const struct sim_lead *lead)
{
    for (unsigned i = 0; i < sim->job_count; i++) {
        const struct sim_lead *other = sim->jobs[i].lead;
        if (sim->jobs[i].state == SIM_RUNNING && other && other != lead &&
            other->state != LEAD_LINGERING && other->folder->phase == lead->folder->phase)
            sim_breach(sim, "jobs %u and %u train phase %u at once", sim->jobs[i].id, lead->job->id,
                       lead->folder->phase);
    }
}

/* What the checkpoints of the runs before have saved may not be trained again. */
static void check_resume(struct sim *sim, const struct sim_folder *folder)
{
    int64_t newest = -1;
    for (unsigned i = sim->fresh_from[folder->phase]; i < sim->folder_count; i++) {
        const struct sim_folder *before = &sim->folders[i];
        if (before->run < folder->run && before->phase == folder->phase &&
            before->checkpoint_step > newest)
            newest = before->checkpoint_step;
    }
    if (folder->begin_step != newest)
        sim_breach(sim, "run %llu resumes from step %lld, but step %lld was saved",
                   (unsigned long long)folder->run, (long long)folder->begin_step,
                   (long long)newest);
}

static void lead_open(struct sim *sim, struct sim_lead *lead, struct sim_folder *folder)
{
    if (folder->has_started)
        sim_breach(sim, "run %llu starts a second time", (unsigned long long)folder->run);
    lead->folder = folder;
    lead->state = LEAD_TRAINING;
    lead->fails_at = 0;
    if (sim_fault(sim, 12)) {
        lead->fails_at = folder->begin_step + 1 + sim_below(sim, 60);
        lead->fails_of = sim_chance(sim, 2) ? CAUSE_EXIT : CAUSE_NODE_FAIL;
    }
    folder->has_started = true;
    folder->job = lead->job;
    sim_say(sim, "lead of job %u: run %llu from step %lld", lead->job->id,
            (unsigned long long)folder->run, (long long)folder->begin_step);
    if (folder->phase && !sim->successes[folder->phase - 1])
        sim_breach(sim, "phase %u begins before the one before it", folder->phase);
    if (lead->job->nodes != sim->nodes_wanted[folder->phase])
        sim_breach(sim, "phase %u runs on %u nodes", folder->phase, lead->job->nodes);
    check_alone(sim, lead);
    check_resume(sim, folder);
}

void lead_start(struct sim *sim, struct sim_job *job)
{
    unsigned number = token_number(job->token);
    if (sim->claim[number]) { /* another Slurm job serves this folder already */
        slurm_job_done(sim, job);
        return;
    }
    sim->claim[number] = job;
    struct sim_folder *folder = folder_find(sim, sim->current[number]);
    if (!folder)
        sim_breach(sim, "job %u finds no folder of a run", job->id);
    struct sim_lead *lead = &sim->leads[sim->lead_count++];
    *lead = (struct sim_lead){.job = job};
    job->nodes = sim->nodes_wanted[folder->phase];
    job->lead = lead;
    lead_open(sim, lead, folder);
}

void lead_term(struct sim *sim, struct sim_lead *lead, enum run_outcome outcome)
{
    if (lead->state != LEAD_TRAINING)
        return;
    lead->state = LEAD_STOPPING;
    lead->stop_outcome = outcome;
    lead->until = sim->now + 1 + sim_below(sim, 7); /* may be too late for the grace */
}

static void lead_end(struct sim *sim, struct sim_lead *lead, enum run_outcome outcome,
                     enum run_cause cause)
{
    struct sim_folder *folder = lead->folder;
    folder->outcome = outcome;
    folder->cause = cause;
    folder->ended = sim->now;
    lead->state = LEAD_LINGERING;
    lead->until = sim->now + 20;
    sim_say(sim, "lead of job %u: run %llu %s at step %lld", lead->job->id,
            (unsigned long long)folder->run, run_outcome_name(outcome),
            (long long)folder->last_step);
}

static void lead_train(struct sim *sim, struct sim_lead *lead)
{
    struct sim_folder *folder = lead->folder;
    int64_t step = ++folder->last_step;
    if (lead->fails_at && step >= lead->fails_at) {
        lead_end(sim, lead, OUTCOME_FAILED, lead->fails_of);
        return;
    }
    bool is_last = step >= sim->steps_wanted[folder->phase];
    if (is_last || step % SIM_CHECKPOINT_STEPS == 0)
        folder->checkpoint_step = step;
    if (is_last)
        lead_end(sim, lead, OUTCOME_SUCCEEDED, CAUSE_NONE);
}

static void lead_tell(struct sim *sim, struct sim_folder *folder)
{
    if (!folder->started_told)
        folder->started_told = daemon_take_started(sim, folder);
    if (folder->started_told && folder->checkpoint_told < folder->checkpoint_step &&
        daemon_take_checkpoint(sim, folder, folder->checkpoint_step))
        folder->checkpoint_told = folder->checkpoint_step;
    if (folder->ended && folder->checkpoint_told == folder->checkpoint_step && !folder->ended_told)
        folder->ended_told = daemon_take_ended(sim, folder);
}

/* True when the lead has left. */
static bool lead_obey(struct sim *sim, struct sim_lead *lead)
{
    uint64_t next;
    int verb = daemon_ask(sim, lead->folder->run, &next);
    if (verb == FX_TELL_STOP) {
        lead_term(sim, lead, OUTCOME_CANCELLED);
    } else if (verb == FX_TELL_NEXT && lead->state == LEAD_LINGERING) {
        sim->current[token_number(lead->job->token)] = next;
        lead_open(sim, lead, folder_find(sim, next));
    } else if (verb == FX_TELL_END && lead->state == LEAD_LINGERING) {
        slurm_job_done(sim, lead->job);
        return true;
    }
    return false;
}

void lead_tick(struct sim *sim, struct sim_lead *lead)
{
    if (lead->state == LEAD_TRAINING)
        lead_train(sim, lead);
    if (lead->state == LEAD_STOPPING && sim->now >= lead->until) {
        lead->folder->checkpoint_step = lead->folder->last_step;
        lead_end(sim, lead, lead->stop_outcome, CAUSE_NONE);
    }
    lead_tell(sim, lead->folder);
    if (lead_obey(sim, lead))
        return;
    if (lead->state == LEAD_LINGERING) {
        bool must_leave = lead->folder->outcome != OUTCOME_SUCCEEDED || sim->now >= lead->until;
        if (must_leave && (lead->folder->ended_told || sim->now >= lead->until))
            slurm_job_done(sim, lead->job);
    }
}
