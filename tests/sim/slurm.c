/* The fake Slurm: accepts, starts, preempts, kills and forgets jobs, loses answers, and crashes. */
#include "tests/sim/sim.h"

#include "lib/text.h"

#include <string.h>

enum { SAVE_S = 5, PURGE_S = 300, GRACE_S = 5, REQUEUE_S = 121, UNWANTED_S = 300, LOOK_S = 10 };

bool slurm_answers(struct sim *sim)
{
    return sim->now >= sim->controller_up_at && !sim_fault(sim, 50);
}

/* Returns the best answer for the token: a job that is not over, or else the newest. */
static struct sim_job *job_find(struct sim *sim, const char *token)
{
    struct sim_job *best = NULL;
    for (unsigned i = sim->job_count; i-- > 0;) {
        struct sim_job *job = &sim->jobs[i];
        if (job->is_known && text_equal(job->token, token) &&
            (!best || (best->state == SIM_OVER && job->state != SIM_OVER)))
            best = job;
    }
    return best;
}

static struct sim_job *job_find_by_id(struct sim *sim, uint32_t id, const char *token)
{
    for (unsigned i = sim->job_count; i-- > 0;)
        if (sim->jobs[i].is_known && sim->jobs[i].id == id && text_equal(sim->jobs[i].token, token))
            return &sim->jobs[i];
    return NULL;
}

/* The jobs of candidates often start in the same second. */
static void job_join_race(struct sim *sim, struct sim_job *job)
{
    unsigned folder = sim->folder_of[token_number(job->token)];
    if (!folder || !sim_chance(sim, 2))
        return;
    for (unsigned i = 0; i < sim->job_count; i++)
        if (sim->folder_of[token_number(sim->jobs[i].token)] == folder &&
            sim->jobs[i].state == SIM_PENDING && sim->jobs[i].starts > sim->now)
            job->starts = sim->jobs[i].starts;
}

/* Whether there are other jobs with the token. That may only be if one of them was submitted by a
 * daemon that no longer had the lease. */
static bool job_meets_twin(struct sim *sim, const char *token)
{
    bool has_twin = false;
    for (unsigned i = 0; i < sim->job_count; i++) {
        struct sim_job *job = &sim->jobs[i];
        if (!text_equal(job->token, token) || (!job->is_known && job->state == SIM_OVER))
            continue;
        if (!job->is_late && !sim->is_late)
            sim_breach(sim, "a second job with the token of job %u", job->id);
        has_twin = job->has_twin = true;
    }
    return has_twin;
}

enum sim_answer slurm_submit(struct sim *sim, const char *token, int64_t limit_s, uint32_t *ret_id)
{
    if (!slurm_answers(sim))
        return SIM_NO_ANSWER;
    if (sim_fault(sim, 40))
        return SIM_LIMITED;
    if (sim->job_count == SIM_JOBS_MAX)
        sim_breach(sim, "too many jobs");
    bool has_twin = job_meets_twin(sim, token);
    struct sim_job *job = &sim->jobs[sim->job_count++];
    *job = (struct sim_job){
        .id = sim->next_job_id++,
        .is_known = true,
        .shown = CLUSTER_JOB_PENDING,
        .submitted = sim->now,
        .starts = sim->now + 1 + sim_below(sim, 20),
        .limit_s = limit_s,
        .is_late = sim->is_late,
        .has_twin = has_twin,
    };
    memcpy(job->token, token, sizeof job->token);
    job_join_race(sim, job);
    *ret_id = job->id;
    sim_say(sim, "slurm: job %u accepted%s%s", job->id, job->is_late ? ", late" : "",
            has_twin ? ", the second one with its token" : "");
    return sim_fault(sim, 20) ? SIM_NO_ANSWER : SIM_DONE; /* the answer may be lost */
}

enum sim_answer slurm_lookup(struct sim *sim, const char *token, uint32_t *ret_id)
{
    if (!slurm_answers(sim))
        return SIM_NO_ANSWER;
    const struct sim_job *job = job_find(sim, token);
    if (!job)
        return SIM_ABSENT;
    *ret_id = job->id;
    return SIM_DONE;
}

static void job_end(struct sim *sim, struct sim_job *job, enum cluster_job_state shown)
{
    job->state = SIM_OVER;
    job->shown = shown;
    job->ended = sim->now;
    job->leads = NULL;
    job->unwanted_s = 0;
    sim_say(sim, "slurm: job %u %s", job->id, cluster_job_state_name(shown));
}

/* The stop of one phase is not a reason to stop another phase. */
static void check_cancel(const struct sim *sim, const struct sim_job *job)
{
    const struct workflow *record = daemon_record(sim);
    for (const struct sim_lead *lead = job->leads; lead; lead = lead->next)
        for (size_t i = 0; i < record->run_count && lead_trains(lead); i++)
            if (record->runs[i]->id == lead->folder->run && record->runs[i]->state != RUN_ENDED &&
                record->runs[i]->wish == WISH_NONE)
                sim_breach(sim, "job %u is cancelled under phase %u", job->id, lead->folder->phase);
}

enum sim_answer slurm_cancel(struct sim *sim, uint32_t id, const char *token)
{
    if (!slurm_answers(sim))
        return SIM_NO_ANSWER;
    struct sim_job *job = job_find_by_id(sim, id, token);
    if (!job || job->state == SIM_OVER)
        return SIM_ABSENT;
    check_cancel(sim, job);
    job->was_pending = job->state == SIM_PENDING;
    job_end(sim, job, CLUSTER_JOB_CANCELLED);
    return SIM_DONE;
}

/* Makes the job pending again, with the same id. */
static void job_wait_again(struct sim *sim, struct sim_job *job)
{
    job->state = SIM_PENDING;
    job->shown = CLUSTER_JOB_PENDING;
    job->leads = NULL;
    job->wants_requeue = job->was_warned = job->is_held = false;
    job->term_at = job->kill_at = 0;
    job->starts = sim->now + 1 + sim_below(sim, sim_chance(sim, 2) ? 10 : 600);
    sim_say(sim, "slurm: job %u waits again", job->id);
}

/* Makes the job pending again, and not before two minutes have passed. */
static void job_requeue(struct sim *sim, struct sim_job *job)
{
    job_wait_again(sim, job);
    job->restarts++;
    job->was_requeued = true;
    job->starts = sim->now + REQUEUE_S;
}

bool slurm_requeue(struct sim *sim, struct sim_job *job)
{
    if (sim->cancels || job->shown != CLUSTER_JOB_RUNNING || !slurm_answers(sim) ||
        sim_fault(sim, 8))
        return false;
    job_requeue(sim, job);
    return true;
}

void slurm_begin(struct sim *sim, uint32_t id, const char *token)
{
    struct sim_job *job = job_find_by_id(sim, id, token);
    if (slurm_answers(sim) && job && job->state == SIM_PENDING && !job->is_held) {
        job->was_requeued = false;
        job->starts = sim->now + 2 + sim_below(sim, 10);
    }
}

void slurm_job_done(struct sim *sim, struct sim_job *job)
{
    if (job->shown == CLUSTER_JOB_RUNNING)
        job_end(sim, job, CLUSTER_JOB_COMPLETED);
    else
        job_wait_again(sim, job);
}

/* The controller had cancelled the pending job just before, and has the job as before that. */
static void job_forget_cancel(struct sim *sim, struct sim_job *job)
{
    job->came_back = true;
    sim_say(sim, "slurm: the cancellation of job %u is forgotten", job->id);
    job_wait_again(sim, job);
}

/* kill -9 of the controller: it forgets what it did just before, and gives the ids of the newest
 * jobs out again. The leads of a job whose start it has forgotten notice that, and end their runs.
 * Other running jobs continue. */
static void controller_crash(struct sim *sim)
{
    sim->controller_up_at = sim->now + 1 + sim_below(sim, sim_chance(sim, 4) ? 4000 : 60);
    uint32_t lowest = sim->next_job_id;
    for (unsigned i = 0; i < sim->job_count; i++) {
        struct sim_job *job = &sim->jobs[i];
        if (job->is_known && job->was_pending && job->shown == CLUSTER_JOB_CANCELLED &&
            job->ended >= sim->now - SAVE_S)
            job_forget_cancel(sim, job);
        if (job->state == SIM_RUNNING && job->started >= sim->now - SAVE_S) {
            job->shown = CLUSTER_JOB_PENDING;
            sim_say(sim, "slurm: the start of job %u is forgotten", job->id);
        }
        if (!job->is_known || job->submitted < sim->now - SAVE_S || job->state != SIM_PENDING)
            continue;
        job->is_known = false;
        job->state = SIM_OVER;
        if (job->id < lowest)
            lowest = job->id;
    }
    sim->next_job_id = lowest;
    sim_say(sim, "slurm: the controller crashed");
}

/* The controller is restored from an older state. Finished and running jobs begin once more. */
static void controller_roll_back(struct sim *sim)
{
    for (unsigned i = 0; i < sim->job_count; i++) {
        struct sim_job *job = &sim->jobs[i];
        bool is_taken = false; /* a newer job has its id */
        for (unsigned j = i + 1; j < sim->job_count; j++)
            is_taken = is_taken || sim->jobs[j].id == job->id;
        if (is_taken || job->state == SIM_PENDING || job->submitted < sim->now - 3600 ||
            sim_chance(sim, 2))
            continue;
        job->is_known = job->came_back = true;
        job_wait_again(sim, job);
    }
}

/* Whether no run needs the pending job any more. The run after a requeue is not there yet as long
 * as the run before may still be followed. */
static bool allocation_is_needless(const struct allocation *allocation)
{
    const struct run *run;
    bool is_idle = true;
    for (size_t at = 0; (run = allocation_next_run(allocation, &at));) {
        if (run->state != RUN_ENDED && run->wish == WISH_NONE)
            return false;
        is_idle = is_idle && run->state == RUN_ENDED;
    }
    return !is_idle || allocation_is_left(allocation);
}

/* No job stays that the daemon believes to be over, and no pending job that no run needs. */
static void check_unwanted(struct sim *sim, struct sim_job *job)
{
    const struct workflow *record = daemon_record(sim);
    bool is_unwanted = false;
    for (size_t i = 0; i < record->allocation_count; i++) {
        const struct allocation *allocation = record->allocations[i];
        if (text_equal(allocation->token, job->token))
            is_unwanted = allocation->ended ||
                          (job->state == SIM_PENDING && allocation_is_needless(allocation));
    }
    bool is_seen = is_unwanted && job->state != SIM_OVER && sim->daemon.core &&
                   sim->now >= sim->controller_up_at;
    job->unwanted_s = is_seen ? job->unwanted_s + LOOK_S : 0;
    if (job->unwanted_s > UNWANTED_S)
        sim_breach(sim, "job %u is not wanted, and is not cancelled", job->id);
}

/* Slurm may hold the job after that. It then waits forever. */
static void job_fail_launch(struct sim *sim, struct sim_job *job)
{
    if (sim_chance(sim, 2)) {
        job_end(sim, job, CLUSTER_JOB_FAILED);
        return;
    }
    job_requeue(sim, job);
    job->is_held = true;
}

static void job_tick(struct sim *sim, struct sim_job *job)
{
    bool answers = sim->now >= sim->controller_up_at;
    if (job->state == SIM_PENDING && !job->is_held && answers && sim->now >= job->starts) {
        if (sim_fault(sim, 60)) { /* a prolog fails, so nothing ever runs */
            job_fail_launch(sim, job);
            return;
        }
        job->state = SIM_RUNNING;
        job->was_requeued = false;
        job->shown = CLUSTER_JOB_RUNNING;
        job->started = sim->now;
        sim_say(sim, "slurm: job %u runs", job->id);
        script_start(sim, job);
    }
    if (job->shown != CLUSTER_JOB_RUNNING)
        return;
    if (!job->term_at && sim_fault(sim, 300)) { /* preemption, with or without a grace */
        job->term_at = sim->now;
        job->kill_at = sim->now + (sim_chance(sim, 2) ? GRACE_S : 0);
        if (job->kill_at > sim->now)
            script_term(sim, job, OUTCOME_PREEMPTED);
    }
    if (!job->was_warned && sim->now >= job->started + job->limit_s - 10) {
        job->was_warned = true;
        script_term(sim, job, OUTCOME_TIMED_OUT);
    }
    bool is_preempted = job->term_at && sim->now >= job->kill_at;
    bool has_failed = !is_preempted && sim_fault(sim, 2000);
    if (has_failed)
        script_orphan(sim, job);
    if (sim->now >= job->started + job->limit_s)
        job_end(sim, job, CLUSTER_JOB_TIMEOUT);
    else if ((is_preempted || has_failed) && !sim->cancels)
        job_requeue(sim, job);
    else if (is_preempted || has_failed)
        job_end(sim, job, is_preempted ? CLUSTER_JOB_PREEMPTED : CLUSTER_JOB_NODE_FAIL);
}

void slurm_tick(struct sim *sim)
{
    orphans_tick(sim);
    if (sim->now >= sim->controller_up_at && sim_fault(sim, 1500))
        controller_crash(sim);
    if (sim->now >= sim->controller_up_at && sim_fault(sim, 4000))
        controller_roll_back(sim);
    for (unsigned i = 0; i < sim->job_count; i++) {
        struct sim_job *job = &sim->jobs[i];
        job_tick(sim, job);
        if (job->state == SIM_RUNNING)
            script_tick(sim, job);
        if (job->state != SIM_OVER && sim->now % LOOK_S == 0)
            check_unwanted(sim, job);
        if (job->is_known && job->state == SIM_OVER && sim->now > job->ended + PURGE_S)
            job->is_known = false;
    }
}
