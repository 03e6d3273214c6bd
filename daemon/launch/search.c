/* Looks for untold checkpoints. A checkpoint that is found is recorded with its size. It is looked
 * at once more when the next run begins from it. If the size is the same, nobody has written in
 * between. */
#include "daemon/launch/launch_private.h"
#include "daemon/loop/loop.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/protocol/told_checkpoint.h"
#include "lib/saved.h"
#include "lib/text.h"

#include <errno.h>
#include <stdlib.h>

struct search_item {
    struct loop_item item;
    uint64_t workflow, phase, run;
    json_t *left;
};

static int search_write_one(const struct search_item *item, const json_t *left, struct store *store,
                            struct error *err)
{
    struct told_checkpoint told = told_checkpoint_read(left);
    const struct store_checkpoint checkpoint = {
        .run = item->run,
        .path = told.path,
        .step = told.step,
        .bytes = told.bytes,
        .time_ms = (int64_t)(told.time * 1000),
        .paths = told.paths,
        .is_unseen = true,
    };
    int status = store_checkpoint_add(store, &checkpoint, err);
    if (status < 0) /* an entry that the record cannot hold is left out */
        return status == -EINVAL && store_excuse(store) ? 0 : status;
    char *message = text_format("step %lld: %s", (long long)checkpoint.step, checkpoint.path);
    const struct store_event event = {.type = EVENT_CHECKPOINT,
                                      .time_ms = checkpoint.time_ms,
                                      .workflow = item->workflow,
                                      .phase = item->phase,
                                      .run = item->run,
                                      .step = checkpoint.step,
                                      .message = message};
    status = store_event_add(store, &event, err);
    free(message);
    return status;
}

static int search_write(struct loop_item *base, struct store *store, struct error *err)
{
    const struct search_item *item = (const struct search_item *)base;
    int status = 0;
    for (size_t i = 0; i < json_array_size(item->left) && status == 0; i++)
        status = search_write_one(item, json_array_get(item->left, i), store, err);
    return status;
}

static void search_free(void *context)
{
    struct search_item *item = context;
    json_decref(item->left);
    free(item);
}

static void search_post(struct loop *loop, struct run *run, json_t *left)
{
    struct search_item *item = xcalloc(1, sizeof *item);
    *item = (struct search_item){
        .item = {.write = search_write, .free = search_free, .adds_history = true},
        .workflow = run->phase->workflow->id,
        .phase = run->phase->id,
        .run = run->id,
        .left = json_incref(left),
    };
    loop_post_item(loop, &item->item, NULL);
    for (size_t i = 0; i < json_array_size(left); i++) {
        struct told_checkpoint told = told_checkpoint_read(json_array_get(left, i));
        struct core_event event = {.kind = EV_CHECKPOINT,
                                   .workflow = run->phase->workflow,
                                   .run = run,
                                   .path = told.path,
                                   .step = told.step};
        loop_post(loop, &event);
    }
}

bool search_left(struct loop *loop, struct run *run, const json_t *more,
                 const struct saved_limit *limit)
{
    struct folder folder;
    struct error err;
    json_t *left = NULL;
    if (!run->phase->has_checkpoint)
        return false;
    folder_init(&folder, loop_config(loop)->home, run);
    if (resume_left(loop_store(loop), folder.phase, run, more, limit, &left, &err) < 0)
        log_line("could not read the checkpoints of run %llu: %s", (unsigned long long)run->id,
                 err.message);
    bool is_found = json_array_size(left) > 0;
    if (is_found)
        search_post(loop, run, left);
    json_decref(left);
    folder_fini(&folder);
    return is_found;
}

bool search_again(struct loop *loop, const struct run *run)
{
    struct run *before = core_run_before(run);
    return before && search_left(loop, before, NULL, &saved_no_limit);
}
