/* The turn: drain what was posted, step, commit once, then answer and carry out. */
#include "daemon/loop/inside.h"

#include "daemon/loop/clock.h"
#include "daemon/loop/crash.h"
#include "daemon/loop/posts.h"
#include "daemon/slurm/cluster.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/mac.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(TOKEN_LENGTH + 1 == MAC_TOKEN_SIZE, "a token is what mac_random() makes");

/* --- Posting ---------------------------------------------------------------------------------- */

void loop_post_item(struct loop *loop, struct loop_item *item, const struct core_event *event)
{
    posts_add(&loop->queue, post_new(item, event));
}

void loop_post(struct loop *loop, const struct core_event *event)
{
    loop_post_item(loop, NULL, event);
}

/* --- Indexes ---------------------------------------------------------------------------------- */

static uint64_t token_key(const char *token)
{
    char head[16];
    memcpy(head, token, sizeof head - 1);
    head[sizeof head - 1] = '\0';
    return strtoull(head, NULL, 16) + 1; /* 60 bits of it; + 1: a key is not 0 */
}

void loop_index_job(struct loop *loop, struct workflow *workflow, struct allocation *job)
{
    map_put(&loop->jobs, token_key(job->token), job);
    map_put(&loop->owners, job->id, workflow);
}

struct allocation *loop_job_by_token(const struct loop *loop, const char *token,
                                     struct workflow **ret_workflow)
{
    struct allocation *job = map_find(&loop->jobs, token_key(token));
    if (!job || strcmp(job->token, token) != 0)
        return NULL;
    *ret_workflow = map_find(&loop->owners, job->id);
    return job;
}

static void index_workflow(struct loop *loop, struct workflow *workflow)
{
    for (size_t i = 0; i < workflow->allocation_count; i++)
        loop_index_job(loop, workflow, workflow->allocations[i]);
    for (size_t i = 0; i < workflow->run_count; i++)
        map_put(&loop->runs, workflow->runs[i]->id, workflow->runs[i]);
}

static void drop_workflow(struct loop *loop, struct workflow *workflow)
{
    for (size_t i = 0; i < workflow->allocation_count; i++) {
        (void)map_remove(&loop->jobs, token_key(workflow->allocations[i]->token));
        (void)map_remove(&loop->owners, workflow->allocations[i]->id);
    }
    for (size_t i = 0; i < workflow->run_count; i++) {
        (void)map_remove(&loop->runs, workflow->runs[i]->id);
    }
    core_drop(loop->core, workflow);
}

/* --- Workflows that are over ------------------------------------------------------------------ */

static void finals_add(struct loop *loop, struct workflow *workflow)
{
    for (size_t i = 0; i < loop->final_count; i++)
        if (loop->finals[i] == workflow)
            return;
    if (loop->final_count == loop->final_capacity) {
        loop->final_capacity = loop->final_capacity ? 2 * loop->final_capacity : 16;
        loop->finals = xrealloc(loop->finals, loop->final_capacity * sizeof *loop->finals);
    }
    loop->finals[loop->final_count++] = workflow;
}

/* Forgets those for which nothing is left to do. Not while something is posted, which may be about
 * one of them. */
static void finals_drop(struct loop *loop)
{
    size_t kept = 0;
    if (loop->queue.first || loop->batch.first)
        return;
    for (size_t i = 0; i < loop->final_count; i++) {
        struct workflow *workflow = loop->finals[i];
        if (!workflow_is_final(workflow))
            continue; /* it goes on */
        if (outbox_concerns(&loop->outbox, workflow))
            loop->finals[kept++] = workflow;
        else
            drop_workflow(loop, workflow);
    }
    loop->final_count = kept;
}

/* --- The turn --------------------------------------------------------------------------------- */

static int batch_write_rows(struct loop *loop, struct error *err)
{
    int status;
    for (struct post *post = loop->batch.first; post; post = post->next) {
        if (!post->item || !post->item->write)
            continue;
        status = post->item->write(post->item, loop->config.store, err);
        if (status < 0)
            return status;
    }
    for (size_t i = 0; i < loop->effects.count; i++) {
        status = store_apply(loop->config.store, &loop->effects.items[i], loop->batch_ms, err);
        if (status == 0)
            status = rooms_write(loop, &loop->effects.items[i], err);
        if (status < 0)
            return status;
    }
    return 0;
}

static int batch_commit(struct loop *loop, struct error *err)
{
    bool has_rows = loop->effects.count > 0;
    for (struct post *post = loop->batch.first; post && !has_rows; post = post->next)
        has_rows = post->item && post->item->write;
    if (!has_rows)
        return 0;
    crash_point("commit", CRASH_BEFORE);
    int status = store_begin(loop->config.store, err);
    if (status < 0)
        return status;
    status = batch_write_rows(loop, err);
    if (status < 0)
        store_rollback(loop->config.store);
    else
        status = store_commit(loop->config.store, err);
    if (status == 0)
        crash_point("commit", CRASH_AFTER);
    return status;
}

/* Takes a new workflow back, as if it had never been posted. */
static void batch_remove(struct loop *loop, struct workflow *workflow)
{
    size_t kept = 0;
    for (size_t i = 0; i < loop->effects.count; i++)
        if (loop->effects.items[i].workflow != workflow)
            loop->effects.items[kept++] = loop->effects.items[i];
    loop->effects.count = kept;
    drop_workflow(loop, workflow);
}

/* What may pass by itself, or by somebody's hand: a full disk, a lock, a file system that is away.
 * All else is a row that the record will never take, which is a mistake in phased. */
static bool may_pass(const struct error *failure)
{
    switch (failure->code) {
    case -ENOSPC:
    case -EDQUOT:
    case -EROFS:
    case -EACCES:
    case -EBUSY:
    case -EIO:
    case -EUCLEAN:
        return true;
    default:
        return false;
    }
}

static void batch_fail(struct loop *loop, const struct error *failure)
{
    bool may_help = may_pass(failure);
    if (!loop->trouble[0] && failure->code != -ESTALE) {
        log_line("could not write the record: %s; waiting until it can be written",
                 failure->message);
        loop->retry_delay_ms = COMMIT_RETRY_FIRST_MS;
    } else if (loop->retry_delay_ms < COMMIT_RETRY_LAST_MS) {
        loop->retry_delay_ms *= 2;
    }
    loop->retry_ms = loop_now_ms() + loop->retry_delay_ms;
    (void)error_text(failure, loop->trouble, sizeof loop->trouble);

    struct posts kept;
    struct post *post;
    posts_init(&kept);
    while ((post = posts_take(&loop->batch))) {
        struct loop_item *item = post->item;
        if (item && item->done) {
            item->done(item, failure);
            item->done = NULL;
        }
        if (item && item->added) {
            batch_remove(loop, item->added);
            post_free(post);
            may_help = true; /* it may have been this one's */
        } else {
            posts_add(&kept, post);
        }
    }
    while ((post = posts_take(&kept)))
        posts_add(&loop->batch, post);
    if (failure->code == -ESTALE) {
        loop_fence(loop, failure);
    } else if (!may_help) {
        log_line("the record will never take this, which is a mistake in phased: %s",
                 failure->message);
        abort();
    }
}

static void batch_finish(struct loop *loop)
{
    if (loop->trouble[0])
        log_line("the record can be written again");
    loop->trouble[0] = '\0';
    for (size_t i = 0; i < loop->effects.count; i++) {
        const struct core_effect *effect = &loop->effects.items[i];
        effects_committed(loop, effect);
        if (effect->workflow->ended_ms)
            finals_add(loop, effect->workflow);
    }
    core_effects_clear(&loop->effects);
    struct post *post;
    while ((post = posts_take(&loop->batch))) {
        if (post->item && post->item->adds_history)
            loop->has_history = true;
        if (post->item && post->item->done)
            post->item->done(post->item, NULL);
        if (post->has_event && post->event.workflow && post->event.workflow->ended_ms)
            finals_add(loop, post->event.workflow);
        post_free(post);
    }
}

static void batch_try(struct loop *loop)
{
    struct error err;
    if (batch_commit(loop, &err) < 0)
        batch_fail(loop, &err);
    else
        batch_finish(loop);
}

static void tell_listener(struct loop *loop)
{
    bool has_history = loop->has_history;
    loop->has_history = false;
    if (has_history && loop->history)
        loop->history(loop->history_arg);
}

static void turn(struct loop *loop)
{
    if (loop->is_turning || loop->is_closing || loop->is_fenced || !loop->cluster)
        return;
    loop->is_turning = true;
    clock_look(loop);
    int64_t now_ms = loop_now_ms();
    if (loop->results_ms != INT64_MAX && (loop->queue.first || now_ms >= loop->results_ms)) {
        loop->results_ms = INT64_MAX;
        rooms_answer(loop);
    }
    if (loop->trouble[0] && now_ms >= loop->retry_ms)
        batch_try(loop);
    while (!loop->trouble[0] && !loop->is_fenced) {
        struct post *post;
        loop->batch_ms = loop_now_ms();
        while ((post = posts_take(&loop->queue))) {
            post->event.now_ms = loop->batch_ms;
            posts_add(&loop->batch, post);
            if (post->has_event)
                core_step(loop->core, &post->event, &loop->effects);
        }
        if (loop->batch.first)
            batch_try(loop);
        if (!loop->trouble[0])
            effects_run(loop);
        if (!loop->queue.first)
            break;
    }
    if (!loop->is_fenced) {
        rooms_turned(loop);
        tell_listener(loop);
        finals_drop(loop);
    }
    loop->is_turning = false;
}

/* --- Time ------------------------------------------------------------------------------------- */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void on_alarm(uv_timer_t *timer)
{
    struct loop *loop = timer->data;
    clock_look(loop);
    int64_t now_ms = loop_now_ms();
    if (loop->trouble[0] || core_deadline(loop->core) > now_ms ||
        now_ms - loop->time_ms < TIME_STEP_MS)
        return; /* the turn that follows does the rest */
    loop->time_ms = now_ms;
    struct core_event event = {.kind = EV_TIME};
    loop_post(loop, &event);
}

/* When to look at the core's deadlines (they are seconds away), which costs a look at all runs: not
 * more often than every TIME_STEP_MS. */
static int64_t core_due(struct loop *loop, int64_t now_ms)
{
    int64_t next_look_ms = loop->looked_ms + TIME_STEP_MS;
    if (now_ms < next_look_ms)
        return next_look_ms;
    loop->looked_ms = now_ms;
    int64_t deadline_ms = core_deadline(loop->core);
    return deadline_ms < loop->time_ms + TIME_STEP_MS ? loop->time_ms + TIME_STEP_MS : deadline_ms;
}

/* Sets the one timer to whatever is due first. */
static void set_alarm(struct loop *loop)
{
    int64_t now_ms = loop_now_ms();
    int64_t due_ms = loop->results_ms;
    if (loop->trouble[0]) {
        due_ms = earlier(due_ms, loop->retry_ms);
    } else {
        due_ms = earlier(due_ms, core_due(loop, now_ms));
        /* Those that are due already wait for room, which a result makes. */
        due_ms = earlier(due_ms, outbox_deadline(&loop->outbox, now_ms));
    }
    uint64_t delay_ms = due_ms > now_ms ? (uint64_t)(due_ms - now_ms) : 0;
    if (due_ms == INT64_MAX)
        (void)uv_timer_stop(&loop->alarm);
    else
        (void)uv_timer_start(&loop->alarm, on_alarm, delay_ms, 0);
}

static void on_prepare(uv_prepare_t *prepare)
{
    struct loop *loop = prepare->data;
    if (!loop->cluster || loop->is_closing)
        return;
    turn(loop);
    if (!loop->is_fenced)
        set_alarm(loop);
}

/* Right after the descriptors were served, so that nothing waits for another round. */
static void on_check(uv_check_t *check)
{
    struct loop *loop = check->data;
    if (loop->queue.first)
        turn(loop);
}

/* Nobody waits for what Slurm says: a little later more of it may share one commit. */
static void on_wake(uv_async_t *wake)
{
    struct loop *loop = wake->data;
    if (loop->results_ms == INT64_MAX)
        loop->results_ms = loop_now_ms() + RESULTS_DELAY_MS;
}

/* --- Life ------------------------------------------------------------------------------------- */

static void make_token(void *arg, char ret_token[TOKEN_LENGTH + 1])
{
    (void)arg;
    mac_random(ret_token, MAC_TOKEN_SIZE);
}

static int take_outbox(void *arg, const struct core_effect *effect)
{
    struct loop *loop = arg;
    if (effect->kind != FX_SUBMIT) {
        int64_t latest_ms = loop_now_ms() + DUE_LAST_MS;
        struct core_effect due = *effect; /* if it is later, the clock was set back since */
        due.due_ms = due.due_ms < latest_ms ? due.due_ms : latest_ms;
        outbox_apply(&loop->outbox, &due);
        return 0;
    }
    /* It may have been carried out. */
    struct core_event event = {.kind = EV_UNSURE,
                               .workflow = effect->workflow,
                               .allocation = effect->allocation,
                               .message = "the daemon was restarted"};
    outbox_apply(&loop->outbox, effect);
    outbox_begin(&loop->outbox, outbox_find(&loop->outbox, FX_SUBMIT, effect->allocation->id),
                 DUTY_STANDING);
    loop_post(loop, &event);
    return 0;
}

static int load(struct loop *loop, struct error *err)
{
    struct store *store = loop->config.store;
    struct core_config config = {.token = make_token};
    int status = store_last_ids(store, &config, err);
    if (status < 0)
        return status;
    loop->core = core_new(&config);
    status = store_load(store, loop->core, err);
    if (status == 0)
        status = store_outbox(store, loop->core, take_outbox, loop, err);
    for (size_t i = 0; status == 0 && i < core_workflow_count(loop->core); i++) {
        struct workflow *workflow = core_workflow_at(loop->core, i);
        index_workflow(loop, workflow);
        if (workflow_is_final(workflow))
            finals_add(loop, workflow);
    }
    clock_begin(loop);
    return status;
}

static void loop_free(struct loop *loop)
{
    rooms_free(loop);
    posts_free(&loop->queue);
    posts_free(&loop->batch);
    core_effects_fini(&loop->effects);
    outbox_fini(&loop->outbox);
    map_fini(&loop->runs);
    map_fini(&loop->jobs);
    map_fini(&loop->owners);
    free(loop->finals);
    core_free(loop->core);
    free(loop);
}

int loop_open(const struct loop_config *config, struct loop **ret_loop, struct error *err)
{
    struct loop *loop = xcalloc(1, sizeof *loop);
    loop->config = *config;
    loop->results_ms = INT64_MAX;
    posts_init(&loop->queue);
    posts_init(&loop->batch);
    int status = load(loop, err);
    if (status < 0) {
        loop_free(loop);
        return status;
    }
    status = uv_async_init(config->uv, &loop->wake, on_wake);
    if (status < 0) {
        loop_free(loop);
        return error_set(err, status, "could not set up the loop: %s", uv_strerror(status));
    }
    (void)uv_prepare_init(config->uv, &loop->prepare); /* these three cannot fail */
    (void)uv_check_init(config->uv, &loop->check);
    (void)uv_timer_init(config->uv, &loop->alarm);
    loop->wake.data = loop->prepare.data = loop->check.data = loop->alarm.data = loop;
    loop->holds = 4;
    (void)uv_prepare_start(&loop->prepare, on_prepare);
    (void)uv_check_start(&loop->check, on_check);
    rooms_open(loop);
    *ret_loop = loop;
    return 0;
}

void loop_wake(void *arg)
{
    struct loop *loop = arg;
    (void)uv_async_send(&loop->wake);
}

void loop_start(struct loop *loop, struct cluster *cluster)
{
    assert(!loop->cluster && cluster);
    loop->cluster = cluster;
}

void loop_hold(struct loop *loop)
{
    loop->holds++;
}

void loop_release(struct loop *loop)
{
    if (--loop->holds > 0)
        return;
    void (*closed)(void *) = loop->closed;
    void *arg = loop->closed_arg;
    loop_free(loop);
    closed(arg);
}

static void on_closed(uv_handle_t *handle)
{
    loop_release(handle->data);
}

void loop_close(struct loop *loop, void (*closed)(void *arg), void *arg)
{
    turn(loop); /* what was posted already is still recorded */
    loop->is_closing = true;
    loop->closed = closed;
    loop->closed_arg = arg;
    rooms_close(loop);
    uv_close((uv_handle_t *)&loop->wake, on_closed);
    uv_close((uv_handle_t *)&loop->prepare, on_closed);
    uv_close((uv_handle_t *)&loop->check, on_closed);
    uv_close((uv_handle_t *)&loop->alarm, on_closed);
}

/* --- Asking ----------------------------------------------------------------------------------- */

void loop_listen(struct loop *loop, void (*history)(void *arg), void *arg)
{
    loop->history = history;
    loop->history_arg = arg;
}

struct cluster *loop_cluster(const struct loop *loop)
{
    return loop->cluster;
}

const struct loop_config *loop_config(const struct loop *loop)
{
    return &loop->config;
}

struct core *loop_core(const struct loop *loop)
{
    return loop->core;
}

struct store *loop_store(const struct loop *loop)
{
    return loop->config.store;
}

const char *loop_trouble(const struct loop *loop)
{
    return loop->trouble[0] ? loop->trouble : NULL;
}

int loop_workflow(struct loop *loop, uint64_t id, struct workflow **ret_workflow, struct error *err)
{
    struct workflow *workflow = core_workflow(loop->core, id);
    if (!workflow) {
        int status = store_load_workflow(loop->config.store, id, &workflow, err);
        if (status < 0)
            return status;
        core_add(loop->core, workflow);
        index_workflow(loop, workflow);
        finals_add(loop, workflow);
    }
    *ret_workflow = workflow;
    return 0;
}

struct run *loop_run(const struct loop *loop, uint64_t id)
{
    return map_find(&loop->runs, id);
}

const struct loop_cluster_status *loop_cluster_status(const struct loop *loop)
{
    return &loop->cluster_status;
}
