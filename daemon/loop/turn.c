/* The turn: drain what was posted, decide, commit once, then answer and carry out. */
#include "daemon/loop/loop_private.h"

#include "daemon/loop/clock.h"
#include "daemon/loop/crash.h"
#include "daemon/store/store.h"
#include "lib/error.h"

#include <errno.h>
#include <stdlib.h>

/* --- Posting ---------------------------------------------------------------------------------- */

void loop_post_item(struct loop *loop, struct loop_item *item, const struct core_event *event)
{
    struct post *post = post_new(item, event);
    STAILQ_INSERT_TAIL(&loop->queue, post, link);
}

void loop_post(struct loop *loop, const struct core_event *event)
{
    loop_post_item(loop, NULL, event);
}

/* --- The batch -------------------------------------------------------------------------------- */

static int batch_write_rows(struct loop *loop, struct error *err)
{
    int status = loop->is_rebound ? store_set_cluster(loop->config.store, loop->binding, err) : 0;
    if (status < 0)
        return status;
    const struct post *post;
    STAILQ_FOREACH(post, &loop->batch, link)
    {
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
    bool has_rows = loop->effects.count > 0 || loop->is_rebound;
    for (const struct post *post = STAILQ_FIRST(&loop->batch); post && !has_rows;
         post = STAILQ_NEXT(post, link))
        has_rows = post->item && post->item->write;
    if (!has_rows) /* rows that could not be written may have been taken back */
        return loop->trouble[0] ? store_try_commit(loop->config.store, err) : 0;
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
    index_drop(loop, workflow);
}

/* Tells the askers that the commit has failed, and takes new workflows back. These workflows got
 * the last numbers, and nobody was told the numbers. False: there was no new workflow. */
static bool batch_take_back(struct loop *loop, const struct error *failure)
{
    struct posts all = STAILQ_HEAD_INITIALIZER(all);
    struct post *post;
    uint64_t first = 0;
    STAILQ_CONCAT(&all, &loop->batch);
    while ((post = posts_take(&all))) {
        struct loop_item *item = post->item;
        if (item && item->done) {
            item->done(item, failure);
            item->done = NULL;
        }
        if (item && item->added) {
            first = first ? first : item->added->id;
            batch_remove(loop, item->added);
            post_free(post);
        } else {
            STAILQ_INSERT_TAIL(&loop->batch, post, link);
        }
    }
    if (first)
        core_give_again(loop->core, first);
    return first;
}

static void batch_fail(struct loop *loop, const struct error *failure)
{
    bool may_help = store_may_pass(failure->code);
    if (!loop->trouble[0] && failure->code != -ESTALE) {
        log_line("could not write the record: %s; waiting until it can be written",
                 failure->message);
        loop->retry_delay_ms = COMMIT_RETRY_FIRST_MS;
        loop->trouble_since_ms = loop_now_ms();
    } else if (loop->retry_delay_ms < COMMIT_RETRY_LAST_MS) {
        loop->retry_delay_ms *= 2;
    }
    loop->retry_ms = clock_ms() + loop->retry_delay_ms;
    (void)error_text(failure, loop->trouble, sizeof loop->trouble);

    /* The rows of a new workflow may be the only ones that cannot be written. */
    may_help |= batch_take_back(loop, failure);
    if (failure->code == -ESTALE) {
        loop_fence(loop, failure);
    } else if (!may_help) {
        log_line(
            "the record refuses these rows, which is a bug in phased; please report this line: %s",
            failure->message);
        abort();
    }
}

static void batch_finish(struct loop *loop)
{
    if (loop->trouble[0])
        log_line("the record can be written again");
    loop->trouble[0] = '\0';
    loop->is_rebound = false;
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

/* --- The turn --------------------------------------------------------------------------------- */

static void tell_listener(struct loop *loop)
{
    bool has_history = loop->has_history;
    loop->has_history = false;
    if (has_history && loop->history)
        loop->history(loop->history_context);
}

/* The core is told before all else that was posted. */
void turn_clock(struct loop *loop, int64_t by_ms)
{
    const struct core_event event = {.kind = EV_CLOCK, .step = by_ms};
    struct post *post = post_new(NULL, &event);
    STAILQ_INSERT_HEAD(&loop->queue, post, link);
}

void turn(struct loop *loop)
{
    if (loop->is_turning || loop->is_closing || loop->is_fenced || !loop->cluster)
        return;
    loop->is_turning = true;
    int64_t set_ms = clock_look(), now_ms = clock_ms();
    if (set_ms)
        turn_clock(loop, set_ms);
    if (loop->results_ms != INT64_MAX &&
        (!STAILQ_EMPTY(&loop->queue) || now_ms >= loop->results_ms)) {
        loop->results_ms = INT64_MAX;
        effects_answer(loop);
    }
    if (loop->trouble[0] && now_ms >= loop->retry_ms)
        batch_try(loop);
    while (!loop->trouble[0] && !loop->is_fenced) {
        struct post *post;
        loop->batch_ms = loop_now_ms();
        while ((post = posts_take(&loop->queue))) {
            post->event.now_ms = loop->batch_ms;
            STAILQ_INSERT_TAIL(&loop->batch, post, link);
            if (post->has_event)
                core_decide(loop->core, &post->event, &loop->effects);
        }
        if (!STAILQ_EMPTY(&loop->batch) || loop->is_rebound)
            batch_try(loop);
        if (!loop->trouble[0])
            effects_run(loop);
        if (STAILQ_EMPTY(&loop->queue))
            break;
    }
    if (!loop->is_fenced) {
        rooms_turned(loop);
        tell_listener(loop);
        finals_drop(loop);
    }
    loop->is_turning = false;
}
