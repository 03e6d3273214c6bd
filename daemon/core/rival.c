/* Rivals: several jobs for one run, of which the first one that starts serves it.
 *
 * The decision is not made here. Leads make it, by the claim on the folder that all rivals share
 * (doc/protocol.md), so that it is right also while nobody but Slurm is there; the lead's report
 * tells it. Until then nothing may be cancelled, since the one that Slurm shows running may be the
 * one that came second. Afterwards the others are, and one of them that starts before that finds
 * the claim and ends. */
#include "daemon/core/step.h"

#include "lib/text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

bool rival_is_open(const struct run *run, const struct job *job)
{
    return job->first && run->job->first == job->first && !run->in_place && !run->has_begun &&
           run->state != RUN_ENDED;
}

bool rival_is_vain(const struct run *run, const struct job *job)
{
    if (!job->first || job->ended)
        return false;
    if (rival_is_open(run, job))
        return run->wish != WISH_NONE;
    bool never_began = run->state == RUN_ENDED && !run->has_begun && !run->in_place;
    return run->job != job || never_began;
}

/* One that may still come to serve the run; NULL: none. */
static struct job *rival_left(const struct run *run)
{
    const struct workflow *workflow = run->phase->workflow;
    for (size_t i = 0; i < workflow->job_count; i++) {
        struct job *job = workflow->jobs[i];
        if (job->first == run->job->first && !job->ended && !job->is_closed)
            return job;
    }
    return NULL;
}

/* One that has not ended, though it may have been cancelled. */
static struct job *rival_there(const struct run *run)
{
    const struct workflow *workflow = run->phase->workflow;
    struct job *left = rival_left(run);
    for (size_t i = 0; i < workflow->job_count && !left; i++)
        if (workflow->jobs[i]->first == run->job->first && !workflow->jobs[i]->ended)
            left = workflow->jobs[i];
    return left;
}

bool rival_is_going(const struct workflow *workflow)
{
    for (size_t i = 0; i < workflow->job_count; i++) {
        const struct job *job = workflow->jobs[i];
        if (job->is_back || (job->first && job->is_closed && !job->ended))
            return true;
    }
    return false;
}

void rival_add(struct step *step, struct run *run, int64_t due_ms)
{
    const char *types = run->phase->alternatives;
    struct job *first = run->job;
    while (types && *types) {
        size_t size = strcspn(types, ",");
        struct job *job = first;
        if (first->first) {
            job = workflow_add_job(run->phase->workflow);
            *job = (struct job){.node_count = first->node_count,
                                .gpus_per_node = first->gpus_per_node,
                                .time_s = first->time_s};
            job->id = step_next_job(step, job->token);
            memcpy(job->reason, first->reason, sizeof job->reason);
        }
        job->first = first;
        (void)snprintf(job->gpu_type, sizeof job->gpu_type, "%.*s", (int)size, types);
        step_save_job(step, run, job);
        job_ask(step, FX_SUBMIT, run, job, due_ms);
        types += size + (types[size] == ',');
    }
}

bool rival_drop(struct step *step, struct run *run, struct job *job)
{
    bool is_open = rival_is_open(run, job);
    job->ended = true;
    step_save_job(step, run, job);
    if (!is_open)
        return true;
    struct job *left = rival_there(run);
    if (run->job->ended) {
        run->job = left ? left : job;
        step_save_run(step, run);
    }
    return left != NULL;
}

void rival_decide(struct run *run, const char *token, uint32_t slurm_id)
{
    const struct workflow *workflow = run->phase->workflow;
    struct job *found = NULL;
    if (!rival_is_open(run, run->job))
        return;
    for (size_t i = 0; i < workflow->job_count; i++) {
        struct job *job = workflow->jobs[i];
        if (job->first != run->job->first)
            continue;
        if (token ? text_equal(job->token, token) : slurm_id && job->slurm_id == slurm_id)
            found = job;
    }
    if (found)
        run->job = found;
}

bool rival_gives_up(struct step *step, struct run *run, struct job *job)
{
    if (!rival_is_vain(run, job))
        return false;
    if (!rival_drop(step, run, job))
        step_tell(step, FACT_JOB_GIVEN_UP, run, job);
    return true;
}

bool rival_goes_on(struct step *step, struct run *run)
{
    const struct workflow *workflow = run->phase->workflow;
    size_t count = workflow->job_count;
    const struct job *first = run->job->first;
    bool is_given_up = false;
    if (!rival_is_open(run, run->job))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct job *job = workflow->jobs[i];
        bool is_unknown = job->first == first && !job->ended && !job->slurm_id && !job->is_asked;
        if (is_unknown && rival_gives_up(step, run, job))
            is_given_up = true;
        else if (is_unknown)
            job_ask(step, FX_SUBMIT, run, job, 0);
    }
    return is_given_up || rival_there(run) != NULL;
}

void rival_withdraw(struct step *step, struct run *run, struct job *job)
{
    job->is_closed = true;
    (void)step_do_job(step, FX_CANCEL_JOB, run, job);
    if (rival_is_open(run, job) && !rival_left(run))
        step_tell(step, FACT_JOB_STUCK, run, job);
}

static void rival_end_vain(struct step *step, struct run *run, struct job *job)
{
    if (job->slurm_id && !job->is_closed) {
        job->is_closed = true;
        (void)step_do_job(step, FX_CANCEL_JOB, run, job);
    } else if (!job->slurm_id && !job->is_asked && !rival_is_open(run, job)) {
        (void)rival_drop(step, run, job); /* nobody waits for it */
    }
}

void rival_settle(struct step *step, struct workflow *workflow)
{
    size_t count = workflow->job_count; /* none of a run that follows is in vain */
    for (size_t i = 0; i < count; i++) {
        struct job *job = workflow->jobs[i];
        if (!job->first || job->ended)
            continue;
        struct run *run = job_run(workflow, job);
        if (rival_is_vain(run, job))
            rival_end_vain(step, run, job);
    }
}
