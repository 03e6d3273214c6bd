/* Which workflows are in memory, and their objects by id and token. */
#include "daemon/loop/loop_private.h"

#include "daemon/store/store.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <stdlib.h>
#include <string.h>

static uint64_t token_key(const char *token)
{
    char head[16];
    memcpy(head, token, sizeof head - 1);
    head[sizeof head - 1] = '\0';
    return strtoull(head, NULL, 16) + 1; /* 60 bits; + 1: a key is not 0 */
}

void index_allocation(struct loop *loop, struct allocation *allocation)
{
    map_put(&loop->allocations, token_key(allocation->token), allocation);
}

struct allocation *loop_allocation_by_token(const struct loop *loop, const char *token)
{
    struct allocation *allocation = map_find(&loop->allocations, token_key(token));
    return allocation && text_equal(allocation->token, token) ? allocation : NULL;
}

void index_workflow(struct loop *loop, struct workflow *workflow)
{
    for (size_t i = 0; i < workflow->allocation_count; i++)
        index_allocation(loop, workflow->allocations[i]);
    for (size_t i = 0; i < workflow->run_count; i++)
        map_put(&loop->runs, workflow->runs[i]->id, workflow->runs[i]);
}

void index_drop(struct loop *loop, struct workflow *workflow)
{
    for (size_t i = 0; i < workflow->allocation_count; i++)
        (void)map_remove(&loop->allocations, token_key(workflow->allocations[i]->token));
    for (size_t i = 0; i < workflow->run_count; i++)
        (void)map_remove(&loop->runs, workflow->runs[i]->id);
    core_drop(loop->core, workflow);
}

/* --- Workflows that are over ------------------------------------------------------------------ */

void finals_add(struct loop *loop, struct workflow *workflow)
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

void finals_drop(struct loop *loop)
{
    size_t kept = 0;
    if (!STAILQ_EMPTY(&loop->queue) || !STAILQ_EMPTY(&loop->batch))
        return;
    for (size_t i = 0; i < loop->final_count; i++) {
        struct workflow *workflow = loop->finals[i];
        if (!workflow_is_final(workflow))
            continue; /* it goes on */
        if (outbox_concerns(&loop->outbox, workflow))
            loop->finals[kept++] = workflow;
        else
            index_drop(loop, workflow);
    }
    loop->final_count = kept;
}

/* --- For rooms -------------------------------------------------------------------------------- */

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
