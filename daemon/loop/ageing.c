/* Ageing: an item of the loop now and then. */
#include "daemon/loop/ageing.h"

#include "daemon/loop/inside.h"
#include "daemon/store/store.h"
#include "lib/memory.h"

#include <stdlib.h>

static int ageing_write(struct loop_item *item, struct store *store, struct error *err)
{
    (void)item;
    return store_samples_age(store, loop_now_ms(), err);
}

static void ageing_free(struct loop_item *item)
{
    free(item);
}

void ageing_look(struct loop *loop, int64_t now_ms)
{
    if (now_ms < loop->ageing_ms)
        return;
    loop->ageing_ms = now_ms + AGEING_EVERY_MS;
    struct loop_item *item = xcalloc(1, sizeof *item);
    *item = (struct loop_item){.write = ageing_write, .free = ageing_free};
    loop_post_item(loop, item, NULL);
}
