/* What follows for phases: starting them, judging them, promoting to those after them. */
#include "daemon/core/step.h"

#include "lib/memory.h"
#include "lib/text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool phase_is_after(const struct phase *phase, const struct phase *before)
{
    for (size_t i = 0; i < phase->after_count; i++)
        if (phase->after[i] == before->index)
            return true;
    return false;
}

bool phase_is_ready(const struct phase *phase)
{
    if (phase->is_matrix)
        return false;
    for (size_t i = 0; i < phase->after_count; i++)
        if (phase->workflow->phases[phase->after[i]].state != PHASE_SUCCEEDED)
            return false;
    return !phase->matrix || matrix_has_lane(phase->matrix);
}

/* A new run, from the newest whole checkpoint where there is one. */
static struct run *phase_add_run(struct step *step, struct phase *phase)
{
    struct run *run = workflow_add_run(phase->workflow, phase);
    run->id = core_next_run(step->core);
    run->attempt = ++phase->attempts;
    run->rung = phase->rung;
    run->submitted_ms = step->now_ms;
    if (phase->checkpoint_path) {
        run->resume_path = xstrdup(phase->checkpoint_path);
        run->resume_step = phase->checkpoint_step;
    }
    return run;
}

static void phase_queue(struct step *step, struct phase *phase, const char *reason)
{
    if (phase->state == PHASE_QUEUED)
        step_save_phase(step, phase);
    else
        phase_move(step, phase, PHASE_QUEUED, reason);
}

static void phase_start_at(struct step *step, struct phase *phase, const char *reason,
                           int64_t due_ms)
{
    struct job *host = job_to_join(step, phase);
    unsigned slot = host ? job_free_slot(phase->workflow, host) : 0;
    struct run *run = phase_add_run(step, phase);
    struct job *job = workflow_add_job(phase->workflow);
    job->id = core_next_job(step->core, job->token);
    job->node_count = phase->nodes;
    job->gpus_per_node = phase->gpus_per_node;
    job->time_s = phase->time_s;
    job->host = host;
    job->slot = slot;
    if (due_ms > step->now_ms && !host)
        (void)snprintf(job->reason, sizeof job->reason, "a pause of %lld s after the failure",
                       (long long)(due_ms - step->now_ms) / 1000);
    run->job = job;
    run->state = RUN_SUBMITTING;
    phase_queue(step, phase, reason);
    step_save_job(step, run, job);
    step_save_run(step, run);
    if (host) {
        step_do(step, FX_TELL_NEXT, run)->due_ms = due_ms;
        job_join(step, run, host);
    } else if (phase->alternatives) {
        rival_add(step, run, due_ms);
    } else {
        job_ask(step, FX_SUBMIT, run, job, due_ms);
    }
}

void phase_start(struct step *step, struct phase *phase, const char *reason)
{
    phase_start_at(step, phase, reason, 0);
}

void phase_start_later(struct step *step, struct phase *phase, const char *reason, int64_t delay_ms)
{
    phase_let_go(step, phase);
    phase_start_at(step, phase, reason, step->now_ms + delay_ms);
}

/* Whether GPUs of this type (NULL: not known) will do. */
static bool phase_takes(const struct phase *phase, const char *type)
{
    if (!phase->gpu_type)
        return true;
    const char *types = phase->alternatives ? phase->alternatives : phase->gpu_type;
    while (type && *types) {
        size_t size = strcspn(types, ",");
        if (strlen(type) == size && strncmp(types, type, size) == 0)
            return true;
        types += size + (types[size] == ',');
    }
    return false;
}

bool phase_has_shape(const struct phase *phase, const struct phase *from, const struct job *job)
{
    if (phase->nodes != job->node_count || phase->gpus_per_node != job->gpus_per_node ||
        phase->cpus_per_node > from->cpus_per_node ||
        !text_equal(phase->slurm_options, from->slurm_options))
        return false;
    return phase_takes(phase, job_gpu_type(job, from));
}

bool phase_has_time(const struct phase *phase, const struct job *job, int64_t now_ms)
{
    bool is_packed = phase->matrix && phase->matrix->lanes > 0; /* the time is for all of them */
    int64_t needed_s = is_packed ? matrix_needs_s(phase) : phase->time_s;
    if (phase->has_checkpoint &&
        !is_packed) { /* ten minutes or a tenth, and twice what a stop takes */
        needed_s = phase->time_s / 10 < 600 ? phase->time_s / 10 : 600;
        if (needed_s < 2 * (int64_t)phase->stop_s)
            needed_s = 2 * (int64_t)phase->stop_s;
    }
    return job->started_ms + 1000 * (int64_t)job->time_s - now_ms >= 1000 * needed_s;
}

/* Equal shape, since more would waste what is not used. Allocations that are shared are left to
 * those who share them. */
bool phase_fits(const struct phase *phase, const struct run *donor, int64_t now_ms)
{
    const struct phase *from = donor->phase;
    const struct job *job = donor->job;
    int64_t leaves_ms = donor->ended_ms + 1000 * (int64_t)from->linger_s - NEXT_MARGIN_MS;
    if (!donor->has_begun || donor->is_let_go || job->ended || now_ms >= leaves_ms ||
        !job->started_ms || job_host(donor->job)->is_closed)
        return false;
    bool are_members = phase->matrix && phase->matrix == from->matrix;
    if (!are_members && (phase_shares(phase) || phase_shares(from)))
        return false;
    return phase_has_shape(phase, from, job) && phase_has_time(phase, job, now_ms);
}

struct run *phase_start_in_job(struct step *step, struct phase *phase, struct run *donor,
                               enum run_state state, const char *reason)
{
    struct run *run = phase_add_run(step, phase);
    run->job = donor->job;
    run->in_place = true;
    run->state = state;
    run->told_ms = step->now_ms;
    phase_queue(step, phase, reason);
    step_save_run(step, run);
    (void)step_do(step, FX_TELL_NEXT, run); /* at once */
    if (donor->job->ended) { /* a lead that was alone may have made this run, and its folder tell */
        run->silent_since_ms = step->now_ms;
        (void)step_do(step, FX_READ_OUTCOME, run);
    }
    return run;
}

void phase_let_go(struct step *step, struct phase *phase)
{
    struct run *run = phase->run;
    if (run && run->state == RUN_ENDED && run->has_begun && !run->job->ended &&
        job_run(phase->workflow, run->job) == run) {
        run->is_let_go = true;
        (void)step_do(step, FX_TELL_END, run); /* at once */
    }
}

void phase_go_on(struct step *step, struct phase *phase, const char *reason)
{
    struct run *before = phase->run;
    char asked[REASON_MAX]; /* who wants it to stop */
    memcpy(asked, phase->reason, sizeof asked);
    phase->stalls = 0;
    struct run *run = phase_start_in_job(step, phase, before, RUN_PENDING, reason);
    if (before->wish != WISH_NONE)
        run_stop(step, run, before->wish, asked);
}

/* The first and the last step that the runs of the phase before this one told; -1: none told it. */
struct told {
    int64_t first, last;
};

static struct told phase_told_before(const struct phase *phase, const struct run *run)
{
    const struct workflow *workflow = phase->workflow;
    struct told told = {-1, -1};
    for (size_t i = 0; i < workflow->run_count; i++) {
        const struct run *before = workflow->runs[i];
        if (before == run || before->phase != phase)
            continue;
        if (before->begin_step >= 0 && (told.first < 0 || before->begin_step < told.first))
            told.first = before->begin_step;
        if (before->last_step > told.last)
            told.last = before->last_step;
    }
    return told;
}

/* Whether a run that was to end at its time limit may be followed by another one, which will come
 * to that limit as well. It may when it left a checkpoint. Without one it may when it came farther
 * than the runs before it and began where a program begins that resumes by itself: past the middle
 * of what they told, since a program that saves every n steps has lost less than n. A run that
 * began anew comes farther by chance alone, and begins where they did, which may be far from 0: a
 * program may tell few steps, or count on from those of another one.
 *
 * Nobody can tell that of the first run. There the spec decides: a phase without `checkpoint`, as
 * sbatch scripts are, ends at its limit as under sbatch. The lead, which sees one run, goes on by
 * itself only with a checkpoint. What counts no steps but shards does not repeat them. */
static bool phase_may_time_out_again(const struct phase *phase, const struct run *run)
{
    struct told before = phase_told_before(phase, run);
    if (phase->checkpoint_path && phase->checkpoint_step > run->resume_step)
        return true;
    if (run->last_step <= run->resume_step || run->last_step <= before.last)
        return false;
    if (run->begin_step < 0)
        return true;
    if (before.last < 0)
        return phase->has_checkpoint;
    return 2 * run->begin_step > before.first + before.last;
}

/* Whether the run was of use to the next one. What was preempted needs to have worked. */
static bool phase_got_farther(const struct phase *phase, const struct run *run)
{
    return run->outcome == OUTCOME_TIMED_OUT ? phase_may_time_out_again(phase, run)
                                             : run->last_step > run->resume_step;
}

void phase_again(struct step *step, struct phase *phase, const char *reason)
{
    const struct run *run = phase->run;
    bool is_endless = run->outcome == OUTCOME_TIMED_OUT && !phase->checkpoint_path;
    if (run->has_begun)
        phase->stalls = phase_got_farther(phase, run) ? 0 : phase->stalls + 1;
    phase_let_go(step, phase);
    char text[REASON_MAX], at[48] = "without any step";
    if (phase->stalls && is_endless) {
        if (run->last_step >= 0)
            (void)snprintf(at, sizeof at, "%sat step %lld",
                           phase_told_before(phase, run).last >= 0 ? "again " : "",
                           (long long)run->last_step);
        (void)snprintf(text, sizeof text,
                       "timed out %s, with no checkpoint to go on from: give it more time, let it "
                       "save checkpoints, or retry it if it resumes by itself",
                       at);
        phase_move_held(step, phase, HOLD_PROGRESS, text);
    } else if (phase->stalls >= STALLED_RESUMES_MAX) {
        (void)snprintf(text, sizeof text, "%u runs in a row made no new step; the last one: %.120s",
                       phase->stalls, reason);
        phase_move_held(step, phase, HOLD_PROGRESS, text);
    } else {
        phase_start(step, phase, reason);
    }
}

void phase_follow(struct step *step, struct phase *phase, bool can_stay, int64_t delay_ms,
                  const char *reason)
{
    if (can_stay && phase_fits(phase, phase->run, step->now_ms)) {
        (void)phase_start_in_job(step, phase, phase->run, RUN_STARTING, reason);
        return;
    }
    phase_let_go(step, phase);
    phase_start_at(step, phase, reason, delay_ms ? step->now_ms + delay_ms : 0);
}

void phase_set_checkpoint(struct phase *phase, const char *path, int64_t at)
{
    char *copy = xstrdup_or_null(path); /* it may be the phase's own */
    free(phase->checkpoint_path);
    phase->checkpoint_path = copy;
    phase->checkpoint_step = copy ? at : 0;
}

void phase_choose_checkpoint(struct phase *phase, const char *path, int64_t at)
{
    phase->is_anew = !path[0];
    phase_set_checkpoint(phase, path[0] ? path : NULL, at);
}

/* Those after a phase that ended otherwise than succeeded will not run. */
static void phase_skip_after(struct step *step, struct phase *phase)
{
    struct workflow *workflow = phase->workflow;
    for (size_t i = phase->index + 1; i < workflow->phase_count; i++) {
        struct phase *next = &workflow->phases[i];
        bool waits = next->state == PHASE_BLOCKED ||
                     (next->state == PHASE_HELD && next->hold == HOLD_USER && !next->run);
        if (!waits || !phase_is_after(next, phase))
            continue;
        char reason[REASON_MAX];
        (void)snprintf(reason, sizeof reason, "%.100s %s", phase->name,
                       phase_state_name(phase->state));
        phase_move(step, next, PHASE_SKIPPED, reason);
        phase_skip_after(step, next);
    }
}

void phase_revive_after(struct step *step, struct phase *phase)
{
    struct workflow *workflow = phase->workflow;
    for (size_t i = phase->index + 1; i < workflow->phase_count; i++) {
        struct phase *next = &workflow->phases[i];
        if (next->state != PHASE_SKIPPED || !phase_is_after(next, phase))
            continue;
        phase_move(step, next, PHASE_BLOCKED, "");
        phase_revive_after(step, next);
    }
}

void phase_fail(struct step *step, struct phase *phase, enum phase_hold hold, const char *reason)
{
    bool is_final = phase->fail_finally || matrix_is_out(phase, hold);
    bool may_hand_over = is_final && phase->matrix;
    if (!may_hand_over)
        phase_let_go(step, phase);
    if (!is_final) {
        phase_move_held(step, phase, hold, reason);
        return;
    }
    phase_move(step, phase, PHASE_FAILED, reason);
    if (may_hand_over && !matrix_hand_over(step, phase) && !matrix_keeps(phase))
        phase_let_go(step, phase);
    phase_skip_after(step, phase);
}

void phase_cancel(struct step *step, struct phase *phase, const char *reason)
{
    remedy_forget(step, phase);
    phase_let_go(step, phase);
    if (phase->is_matrix)
        matrix_let_go(step, phase);
    phase_move(step, phase, PHASE_CANCELLED, reason);
    phase_skip_after(step, phase);
}

void phase_promote(struct step *step, struct phase *phase, const char *who)
{
    struct workflow *workflow = phase->workflow;
    struct run *donor = phase->is_matrix ? matrix_donor(phase) : phase->run, *begun = NULL;
    bool is_ungated = !*who && step->event->is_ungated;
    char reason[REASON_MAX];
    if (phase->is_matrix && !*who)
        (void)snprintf(reason, sizeof reason, "%s", step->event->message);
    else if (is_ungated)
        (void)snprintf(reason, sizeof reason, "its run succeeded; it has no gate");
    else
        (void)snprintf(reason, sizeof reason, "promoted by %.200s", *who ? who : "its gate");
    phase_move(step, phase, PHASE_SUCCEEDED, reason);
    for (size_t i = phase->index + 1; i < workflow->phase_count; i++) {
        struct phase *next = &workflow->phases[i];
        if (next->state != PHASE_BLOCKED || !phase_is_after(next, phase) || !phase_is_ready(next))
            continue;
        if (donor && !begun && phase_fits(next, donor, step->now_ms))
            begun = phase_start_in_job(step, next, donor, RUN_STARTING, "in place");
        else
            phase_start(step, next, "submitted");
        struct core_effect *promotion = step_do(step, FX_PROMOTION, next->run);
        promotion->phase = phase;
        promotion->is_ungated = is_ungated;
        (void)snprintf(promotion->message, sizeof promotion->message, "%s", who);
    }
    if (!begun && !matrix_hand_over(step, phase) && !matrix_keeps(phase))
        phase_let_go(step, donor ? donor->phase : phase);
}

void phase_adopt_plan(struct step *step, struct phase *phase, const struct workflow *plan)
{
    struct workflow *workflow = phase->workflow;
    assert(plan->phase_count == workflow->phase_count);
    phase_adopt(phase, &plan->phases[phase->index]);
    for (size_t i = phase->index + 1; i < workflow->phase_count; i++) {
        struct phase *next = &workflow->phases[i];
        if (next->run)
            continue;
        phase_adopt(next, &plan->phases[i]);
        step_save_phase(step, next);
    }
}

void phase_on_judged(struct step *step, struct phase *phase)
{
    const struct core_event *event = step->event;
    struct core_effect *done = step_add(step, FX_JUDGE, phase->workflow);
    done->phase = phase;
    done->is_done = true;
    if (phase->state != PHASE_DECIDING || phase->remedy) /* cancelled meanwhile, or news twice */
        return;
    if (phase->is_matrix) {
        matrix_on_judged(step, phase);
        return;
    }
    const char *message = event->message ? event->message : "";
    char reason[REASON_MAX];
    if (event->gate == GATE_INCOMPLETE && !phase->fail_finally) {
        phase_let_go(step, phase); /* also of a member, which was not measured and is not out */
        phase_move_held(step, phase, HOLD_GATE, message);
    } else if (event->gate != GATE_PASSED) {
        if (remedy_begin(step, phase, event->checks, NULL, message))
            return;
        bool is_used_up = remedy_is_used_up(phase, event->checks, NULL);
        (void)snprintf(reason, sizeof reason, "%.200s%s", message,
                       is_used_up ? "; its remedies are used up" : "");
        phase_fail(step, phase, HOLD_GATE, reason);
    } else if (phase->promote_manual) {
        phase_let_go(step, phase);
        phase_move_held(step, phase, HOLD_MANUAL,
                        event->is_ungated ? "its run succeeded; waiting for `promote`"
                                          : "its gate passed; waiting for `promote`");
    } else {
        phase_promote(step, phase, "");
    }
}

void workflow_settle(struct step *step, struct workflow *workflow)
{
    bool is_final = workflow_is_final(workflow);
    if (is_final == (workflow->ended_ms != 0))
        return;
    workflow->ended_ms = is_final ? step->now_ms : 0;
    step_save_workflow(step, workflow);
}
