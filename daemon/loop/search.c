/* Looking for untold checkpoints. What is found is recorded with its size, and looked at once more
 * when the next run begins from it: two looks, between which nobody has written. */
#include "daemon/loop/search.h"

#include "daemon/loop/entry.h"
#include "daemon/loop/folder.h"
#include "daemon/loop/inside.h"
#include "daemon/loop/notes.h"
#include "daemon/loop/resume.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/memory.h"

#include <stdlib.h>

struct search_item {
    struct loop_item item;
    struct entry_origin origin;
    json_t *left;
};

static int search_write(struct loop_item *base, struct store *store, struct error *err)
{
    const struct search_item *item = (const struct search_item *)base;
    int status = 0;
    for (size_t i = 0; i < json_array_size(item->left) && status == 0; i++)
        status = entry_write(json_array_get(item->left, i), &item->origin, store, err);
    return status;
}

static void search_free(struct loop_item *base)
{
    struct search_item *item = (struct search_item *)base;
    json_decref(item->left);
    free(item);
}

/* Makes them entries of a journal. */
static void search_complete(json_t *left)
{
    for (size_t i = 0; i < json_array_size(left); i++) {
        json_t *entry = json_array_get(left, i);
        json_object_set_new(entry, "type", json_string("checkpoint"));
        json_object_set_new(entry, "unseen", json_true());
    }
}

static void search_post(struct loop *loop, struct run *run, json_t *left)
{
    struct search_item *item = xcalloc(1, sizeof *item);
    *item = (struct search_item){
        .item = {.write = search_write, .free = search_free, .adds_history = true},
        .origin = {.workflow = run->phase->workflow->id,
                   .phase = run->phase->id,
                   .run = run->id,
                   .node = ""},
        .left = json_incref(left),
    };
    loop_post_item(loop, &item->item, NULL);
    for (size_t i = 0; i < json_array_size(left); i++) {
        char buffer[REASON_MAX];
        struct core_event event;
        if (!entry_event(json_array_get(left, i), buffer, &event))
            continue;
        event.workflow = run->phase->workflow;
        event.run = run;
        loop_post(loop, &event);
    }
}

/* `more` are entries of its journals that the record may not have yet. False: there is nothing. */
static bool search_run(struct loop *loop, struct run *run, const json_t *more)
{
    struct folder folder;
    struct error err;
    json_t *left = NULL;
    folder_init(&folder, loop->config.home, run);
    if (resume_left(loop->config.store, folder.phase, run, more, &left, &err) < 0)
        log_line("could not read the checkpoints of run %llu: %s", (unsigned long long)run->id,
                 err.message);
    search_complete(left);
    bool is_found = json_array_size(left) > 0;
    if (is_found)
        search_post(loop, run, left);
    json_decref(left);
    folder_fini(&folder);
    return is_found;
}

void search_left(struct loop *loop, const struct notes *notes, struct run *run)
{
    if (!run->phase->has_checkpoint || run->state == RUN_ENDED)
        return;
    if (notes->is_suspect || run->suspect_step >= 0) /* nobody knows which were saved before */
        return;
    (void)search_run(loop, run, notes->saved);
}

bool search_again(struct loop *loop, const struct run *run)
{
    struct run *before = core_run_before(run);
    return run->phase->has_checkpoint && before && search_run(loop, before, NULL);
}
