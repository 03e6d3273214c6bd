/* The memory of workflows, and what their state is as a whole. */
#include "daemon/core/model.h"

#include "lib/memory.h"
#include "lib/text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A new zeroed element at the end of a growing array of pointers. */
static void *array_add(void ***array, size_t *count, size_t size)
{
    void **grown = xrealloc(*array, (*count + 1) * sizeof **array);
    void *element = xcalloc(1, size);
    grown[(*count)++] = element;
    *array = grown;
    return element;
}

static void phase_fini(struct phase *phase)
{
    free(phase->name);
    free(phase->after);
    free(phase->gpu_type);
    free(phase->alternatives);
    free(phase->slurm_options);
    free(phase->checkpoint_path);
    free(phase->reused_from);
    for (size_t i = 0; i < phase->remedy_count; i++)
        free(phase->remedies[i].cause);
    free(phase->remedies);
}

static void text_adopt(char **text, const char *from)
{
    char *copy = xstrdup_or_null(from);
    free(*text);
    *text = copy;
}

void phase_adopt(struct phase *phase, const struct phase *plan)
{
    phase->promote_manual = plan->promote_manual;
    phase->fail_finally = plan->fail_finally;
    phase->has_checkpoint = plan->has_checkpoint;
    phase->nodes = plan->nodes;
    phase->gpus_per_node = plan->gpus_per_node;
    phase->cpus_per_node = plan->cpus_per_node;
    phase->time_s = plan->time_s;
    phase->stop_s = plan->stop_s;
    phase->linger_s = plan->linger_s;
    text_adopt(&phase->gpu_type, plan->gpu_type);
    text_adopt(&phase->alternatives, plan->alternatives);
    text_adopt(&phase->slurm_options, plan->slurm_options);
}

void phase_count_remedies(const struct phase *phase, const char *cause, unsigned *ret_used,
                          unsigned *ret_times)
{
    *ret_used = *ret_times = 0;
    for (size_t i = 0; i < phase->remedy_count; i++) {
        if (strcmp(phase->remedies[i].cause, cause) != 0)
            continue;
        *ret_used += phase->remedies[i].used;
        *ret_times += phase->remedies[i].times;
    }
}

struct run *workflow_add_run(struct workflow *workflow, struct phase *phase)
{
    assert(phase->workflow == workflow);
    void **runs = (void **)workflow->runs;
    struct run *run = array_add(&runs, &workflow->run_count, sizeof *run);
    workflow->runs = (struct run **)runs;
    run->phase = phase;
    run->resume_step = run->begin_step = run->last_step = run->suspect_step = -1;
    phase->run = run;
    return run;
}

struct job *workflow_add_job(struct workflow *workflow)
{
    void **jobs = (void **)workflow->jobs;
    struct job *job = array_add(&jobs, &workflow->job_count, sizeof *job);
    workflow->jobs = (struct job **)jobs;
    return job;
}

bool workflow_is_final(const struct workflow *workflow)
{
    for (size_t i = 0; i < workflow->phase_count; i++)
        if (!phase_state_is_final(workflow->phases[i].state))
            return false;
    return true;
}

const char *workflow_state(const struct workflow *workflow)
{
    unsigned counts[PHASE_STATE_COUNT] = {0};
    for (size_t i = 0; i < workflow->phase_count; i++) {
        const struct phase *phase = &workflow->phases[i];
        if (!phase->matrix ||
            !phase_state_is_final(phase->state)) /* else its matrix speaks for it */
            counts[phase->state]++;
    }
    if (counts[PHASE_QUEUED] || counts[PHASE_ACTIVE] || counts[PHASE_DECIDING])
        return "running";
    if (counts[PHASE_HELD])
        return "held";
    if (counts[PHASE_BLOCKED])
        return "running";
    if (counts[PHASE_FAILED])
        return "failed";
    return counts[PHASE_CANCELLED] ? "cancelled" : "succeeded";
}

bool phase_shares(const struct phase *phase)
{
    const struct workflow *workflow = phase->workflow;
    if (phase->beside)
        return true;
    for (size_t i = 0; i < workflow->phase_count; i++)
        if (workflow->phases[i].beside == phase)
            return true;
    return false;
}

unsigned phase_parts(const struct phase *phase)
{
    return phase->matrix && phase->matrix->is_parallel ? phase->matrix->lanes : 1;
}

struct job *job_host(struct job *job)
{
    return job->host ? job->host : job;
}

bool run_is_served_by(const struct run *run, const char *token)
{
    const struct workflow *workflow = run->phase->workflow;
    const struct job *host = job_host(run->job);
    bool is_served = text_equal(run->job->token, token) || text_equal(host->token, token);
    for (size_t i = 0; host->first && i < workflow->job_count; i++)
        is_served |=
            workflow->jobs[i]->first == host->first && text_equal(workflow->jobs[i]->token, token);
    return is_served;
}

const char *job_gpu_type(const struct job *job, const struct phase *phase)
{
    return job->gpu_type[0] ? job->gpu_type : phase->gpu_type;
}

int64_t job_quiet_since_ms(const struct job *job)
{
    return job->end_seen_ms > job->ended_ms ? job->end_seen_ms : job->ended_ms;
}

const struct job *job_folder(const struct job *job)
{
    return job->first ? job->first : job;
}

struct run *job_run(const struct workflow *workflow, const struct job *job)
{
    for (size_t i = workflow->run_count; i-- > 0;)
        if (workflow->runs[i]->job == job)
            return workflow->runs[i];
    for (size_t i = 0; job->first && i < workflow->run_count; i++)
        if (workflow->runs[i]->job->first == job->first)
            return workflow->runs[i];
    assert(false && "a job without a run");
    return NULL;
}

bool job_is_idle(const struct workflow *workflow, const struct job *job)
{
    for (size_t i = 0; i < workflow->run_count; i++)
        if (job_host(workflow->runs[i]->job) == job && workflow->runs[i]->state != RUN_ENDED)
            return false;
    return true;
}

void workflow_free(struct workflow *workflow)
{
    if (!workflow)
        return;
    for (size_t i = 0; i < workflow->phase_count; i++)
        phase_fini(&workflow->phases[i]);
    for (size_t i = 0; i < workflow->run_count; i++) {
        free(workflow->runs[i]->resume_path);
        free(workflow->runs[i]);
    }
    for (size_t i = 0; i < workflow->job_count; i++)
        free(workflow->jobs[i]);
    free(workflow->phases);
    free(workflow->runs);
    free(workflow->jobs);
    free(workflow->name);
    free(workflow);
}
