/* Carrying out what was committed. What cannot be done now waits and is tried again; what was done
 * is told to the core by an event. */
#include "daemon/loop/inside.h"

#include "daemon/admission/admission.h"
#include "daemon/loop/crash.h"
#include "daemon/loop/folder.h"
#include "daemon/loop/journal.h"
#include "daemon/loop/notes.h"
#include "daemon/loop/resume.h"
#include "daemon/loop/search.h"
#include "daemon/loop/job_order.h"
#include "daemon/slurm/cluster.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/text.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* --- With the transaction --------------------------------------------------------------------- */

static bool begins_a_run(const struct core_effect *effect)
{
    return (effect->kind == FX_SUBMIT || effect->kind == FX_TELL_NEXT) && !effect->is_done;
}

int effects_write_secret(struct loop *loop, const struct core_effect *effect, struct error *err)
{
    if (!begins_a_run(effect))
        return 0;
    struct notes *notes;
    int status = notes_make(loop, effect->run->id, &notes, err);
    if (status < 0 || !notes->secret_is_new)
        return status;
    return store_secret_set(loop->config.store, notes->run, notes->secret_text, err);
}

static void log_move(const struct core_effect *effect)
{
    const struct phase *phase = effect->phase;
    char run[32] = "";
    if (effect->run)
        (void)snprintf(run, sizeof run, "#%u", effect->run->attempt);
    log_line("%s %llu/%s%s: %s -> %s%s%s%s", effect->run ? "run" : "phase",
             (unsigned long long)effect->workflow->id, phase ? phase->name : "", run,
             effect->from ? effect->from : "", effect->to ? effect->to : "",
             effect->message[0] ? " (" : "", effect->message, effect->message[0] ? ")" : "");
}

static void hasten_vain(struct loop *loop, const struct allocation *job)
{
    struct duty *duty = outbox_find(&loop->outbox, FX_SUBMIT, job->id);
    if (duty && duty->state == DUTY_WAITING && core_allocation_is_vain(duty->effect.workflow, job))
        outbox_hasten(&loop->outbox, duty);
}

/* Somebody wants the run to stop. Whether a submission of its is with Slurm just now only the
 * outbox knows; one that waits, be it for minutes, is given up at once. */
static void hasten_end(struct loop *loop, const struct run *run)
{
    const struct workflow *workflow = run->phase->workflow;
    if (run->wish == WISH_NONE || run->state == RUN_ENDED || run->has_begun)
        return;
    for (size_t i = 0; i < workflow->allocation_count; i++) {
        struct allocation *job = workflow->allocations[i];
        if (run_is_in(run, job))
            hasten_vain(loop, job);
    }
}

void effects_committed(struct loop *loop, const struct core_effect *effect)
{
    struct notes *notes;
    switch (effect->kind) {
    case FX_HISTORY:
        log_move(effect);
        loop->has_history = true;
        break;
    case FX_WARNING:
        log_line("warning: run %llu/%s#%u: %s", (unsigned long long)effect->workflow->id,
                 effect->run->phase->name, effect->run->attempt, effect->message);
        loop->has_history = true;
        break;
    case FX_PROMOTION:
    case FX_BLAME_NODE:
        loop->has_history = true;
        break;
    case FX_SAVE_JOB:
        loop_index_job(loop, effect->workflow, effect->allocation);
        break;
    case FX_SAVE_RUN:
        map_put(&loop->runs, effect->run->id, effect->run);
        hasten_end(loop, effect->run);
        break;
    default:
        break;
    }
    if (begins_a_run(effect) && (notes = map_find(&loop->notes, effect->run->id)))
        notes->secret_is_new = false;
    if (core_effect_is_kept(effect->kind))
        outbox_apply(&loop->outbox, effect);
}

/* --- One effect each -------------------------------------------------------------------------- */

static void post_job(struct loop *loop, enum core_event_kind kind, const struct duty *duty,
                     const struct error *err)
{
    struct core_event event = {.kind = kind,
                               .workflow = duty->effect.workflow,
                               .allocation = duty->effect.allocation,
                               .message = err->message};
    loop_post(loop, &event);
}

static int prepare(struct loop *loop, const struct run *run, const struct folder *folder,
                   struct store_launch *ret_launch, bool *ret_is_begun, struct error *err)
{
    struct store *store = loop->config.store;
    struct notes *notes;
    json_t *resume = NULL;
    char *why = NULL;
    int status = notes_get(loop, run->id, &notes, err);
    if (status == 0)
        status = resume_choose(store, run, &resume, &why, err);
    if (status == 0)
        status = store_launch_load(store, run->phase->id, ret_launch, err);
    if (status < 0)
        goto out;
    status = folder_make_run(folder, loop->config.home, run, ret_launch, failures_get(loop, run),
                             notes->secret_text, resume, ret_is_begun, err);
    if (status < 0)
        store_launch_fini(ret_launch);
    else if (why && !*ret_is_begun)
        loop_warn(loop, run, "%s", why);
out:
    free(why);
    json_decref(resume);
    return status;
}

/* The nodes that the order leaves out; the caller's to free(). A record that cannot be read must
 * not stop a submission. */
static char *excluded_nodes(struct loop *loop, const struct duty *duty)
{
    char *nodes = NULL;
    struct error err;
    if (!duty->takes_any &&
        store_nodes_excluded(loop->config.store, loop_now_ms(), &nodes, &err) < 0)
        log_line("could not read which nodes are excluded: %s", err.message);
    return nodes;
}

/* The reason is written when it changes; else looking again costs no transaction. */
static int wait_for_turn(struct loop *loop, const struct duty *duty, const char *reason)
{
    int64_t again_ms = admission_again_ms();
    if (text_equal(reason, duty->effect.allocation->reason))
        return CARRIED_LATER_MS + (int)(again_ms - loop_now_ms());
    struct core_event event = {.kind = EV_LIMITED,
                               .workflow = duty->effect.workflow,
                               .allocation = duty->effect.allocation,
                               .retry_ms = again_ms,
                               .message = reason};
    loop_post(loop, &event);
    return CARRIED_OUT;
}

static int carry_submit(struct loop *loop, struct duty *duty)
{
    const struct run *run = duty->effect.run;
    const struct allocation *job = duty->effect.allocation;
    struct store_launch launch;
    struct folder folder;
    struct error err;
    char reason[REASON_MAX];
    if (core_allocation_is_vain(duty->effect.workflow, job)) {
        (void)error_set(&err, -ECANCELED, "not wanted any more");
        post_job(loop, EV_LIMITED, duty, &err); /* nothing exists, and nothing shall */
        return CARRIED_OUT;
    }
    if (!admission_asks(loop, duty->effect.workflow, job, reason))
        return wait_for_turn(loop, duty, reason);
    if (search_again(loop, run))
        return CARRIED_LATER_MS + FOLDER_RETRY_MS;
    folder_init_job(&folder, loop->config.home, run, job);
    bool is_begun; /* in another candidate for its seat, maybe */
    int status = prepare(loop, run, &folder, &launch, &is_begun, &err);
    if (status < 0) {
        post_job(loop, EV_LIMITED, duty, &err); /* nothing exists; the core tries again later */
        folder_fini(&folder);
        return CARRIED_OUT;
    }
    struct job_order order;
    char *excluded = excluded_nodes(loop, duty);
    duty->excludes = excluded != NULL;
    job_order_init(&order, run, job, &folder, &launch, loop->config.worker, excluded);
    free(excluded);
    int carried = CARRIED_REQUEST;
    status = folder_make_job(&folder, order.script, &err);
    if (status < 0) {
        post_job(loop, EV_LIMITED, duty, &err);
        carried = CARRIED_OUT;
    } else {
        status = cluster_submit(loop->cluster, duty_id(duty), &order.description, &err);
        assert(status != -EAGAIN); /* there was room */
        if (status < 0) {
            post_job(loop, EV_REFUSED, duty, &err);
            carried = CARRIED_OUT;
        }
    }
    job_order_fini(&order);
    store_launch_fini(&launch);
    folder_fini(&folder);
    return carried;
}

static int carry_lookup(struct loop *loop, struct duty *duty)
{
    struct error err;
    if (cluster_lookup(loop->cluster, duty_id(duty), duty->effect.allocation->token, &err) == 0)
        return CARRIED_REQUEST;
    post_job(loop, EV_UNSURE, duty, &err);
    return CARRIED_OUT;
}

static int carry_cancel(struct loop *loop, struct duty *duty)
{
    struct error err;
    const struct allocation *job = duty->effect.allocation;
    if (job->slurm_id == 0)
        return CARRIED_OUT; /* nothing to cancel is known yet; the core asks again when it is */
    if (cluster_cancel(loop->cluster, duty_id(duty), job->slurm_id, job->token, 0, &err) == 0)
        return CARRIED_REQUEST;
    log_line("could not cancel job %u: %s", job->slurm_id, err.message);
    return CARRIED_LATER_MS + CHANGE_RETRY_MS;
}

static int carry_begin(struct loop *loop, struct duty *duty)
{
    struct error err;
    const struct allocation *job = duty->effect.allocation;
    int64_t begin = loop_now_ms() / 1000 + BEGIN_DELAY_S;
    if (cluster_begin(loop->cluster, duty_id(duty), job->slurm_id, job->token, begin, &err) == 0)
        return CARRIED_REQUEST;
    log_line("could not begin job %u: %s", job->slurm_id, err.message);
    return CARRIED_LATER_MS + CHANGE_RETRY_MS;
}

static int carry_read_outcome(struct loop *loop, struct duty *duty)
{
    bool is_read = journal_read_outcome(loop, duty->effect.run);
    return is_read ? CARRIED_OUT : CARRIED_LATER_MS + OUTCOME_RETRY_MS;
}

static int carry_seal(struct loop *loop, struct duty *duty)
{
    struct run *run = duty->effect.run;
    struct core_event event = {.kind = EV_SEALED, .workflow = run->phase->workflow, .run = run};
    struct folder folder;
    struct error err;
    folder_init(&folder, loop->config.home, run);
    int status = folder_seal(&folder, run, &err);
    folder_fini(&folder);
    if (status < 0) {
        log_line("%s", err.message);
        return CARRIED_LATER_MS + FOLDER_RETRY_MS;
    }
    loop_post(loop, &event);
    loop->has_told = true; /* its lead is to stop, if there is one: loop_command() */
    return CARRIED_OUT;
}

static int carry_tell(struct loop *loop, struct duty *duty)
{
    (void)duty; /* that it stands is what loop_command() looks for */
    loop->has_told = true;
    return CARRIED_OUT;
}

/* The lead may have begun the run already, alone: then its journals tell how far it is. */
static int carry_tell_next(struct loop *loop, struct duty *duty)
{
    struct run *run = duty->effect.run;
    struct store_launch launch;
    struct folder folder;
    struct error err;
    bool is_begun;
    char reason[REASON_MAX];
    if (!admission_pays(loop, run->phase->workflow, reason))
        return CARRIED_LATER_MS + CHANGE_RETRY_MS; /* it will be held */
    if (search_again(loop, run))
        return CARRIED_LATER_MS + FOLDER_RETRY_MS;
    folder_init(&folder, loop->config.home, run);
    int status = prepare(loop, run, &folder, &launch, &is_begun, &err);
    if (status == 0) {
        store_launch_fini(&launch);
        if (seat_is_joined(run->seat))
            status = folder_join_job(&folder, run, &err);
    }
    folder_fini(&folder);
    if (status < 0) {
        log_line("could not prepare run %llu: %s", (unsigned long long)run->id, err.message);
        return CARRIED_LATER_MS + FOLDER_RETRY_MS;
    }
    if (is_begun) {
        log_line("run %llu/%s#%u was begun by its lead already",
                 (unsigned long long)run->phase->workflow->id, run->phase->name, run->attempt);
        (void)journal_read_outcome(loop, run); /* what is missing its lead tells */
    }
    return carry_tell(loop, duty);
}

static int (*const carriers[FX_COUNT])(struct loop *loop, struct duty *duty) = {
    [FX_SUBMIT] = carry_submit,
    [FX_LOOKUP] = carry_lookup,
    [FX_CANCEL_JOB] = carry_cancel,
    [FX_BEGIN_JOB] = carry_begin,
    [FX_READ_OUTCOME] = carry_read_outcome,
    [FX_SEAL] = carry_seal,
    [FX_TELL_STOP] = carry_tell,
    [FX_TELL_NEXT] = carry_tell_next,
    [FX_TELL_END] = carry_tell,
};

static void carry(struct loop *loop, struct duty *duty, int64_t now_ms)
{
    const char *name = core_effect_name(duty->effect.kind);
    crash_point(name, CRASH_BEFORE);
    int carried = carriers[duty->effect.kind] ? carriers[duty->effect.kind](loop, duty)
                                              : rooms_carry(loop, &duty->effect);
    crash_point(name, CRASH_AFTER);
    outbox_begin(&loop->outbox, duty, carried == CARRIED_REQUEST ? DUTY_UNDER_WAY : DUTY_STANDING);
    if (carried >= CARRIED_LATER_MS)
        outbox_retry(&loop->outbox, duty, now_ms + carried - CARRIED_LATER_MS);
}

void effects_run(struct loop *loop)
{
    struct duty *duty;
    int64_t now_ms = loop_now_ms();
    bool has_any = outbox_due(&loop->outbox, OUTBOX_OWN, now_ms) ||
                   outbox_due(&loop->outbox, OUTBOX_CLUSTER, now_ms);
    if (has_any && !loop_is_owner(loop))
        return;
    while ((duty = outbox_due(&loop->outbox, OUTBOX_OWN, now_ms)))
        carry(loop, duty, now_ms);
    while (cluster_has_room(loop->cluster) &&
           (duty = outbox_due(&loop->outbox, OUTBOX_CLUSTER, now_ms)))
        carry(loop, duty, now_ms);
}

/* --- For rooms -------------------------------------------------------------------------------- */

enum effect_state loop_effect(const struct loop *loop, enum core_effect_kind kind, uint64_t id)
{
    const struct duty *duty = outbox_find(&loop->outbox, kind, id);
    if (!duty)
        return EFFECT_NONE;
    if (duty->state == DUTY_WAITING)
        return duty->due_ms <= loop_now_ms() ? EFFECT_DUE : EFFECT_WAITING;
    return duty->state == DUTY_UNDER_WAY ? EFFECT_UNDER_WAY : EFFECT_STANDING;
}
