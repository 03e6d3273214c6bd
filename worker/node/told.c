/* Knows the checkpoints that were reported last. */
#include "worker/node/told.h"

#include "lib/memory.h"
#include "lib/text.h"

#include <stdlib.h>

bool told_again(struct told *told, const struct saved *checkpoint, bool is_suspect)
{
    if (checkpoint->path_count != 1)
        return false; /* a resume needs all of the paths */
    for (size_t i = 0; i < TOLD_MAX; i++) {
        const struct told_item *item = &told->items[i];
        if (item->path && item->step == checkpoint->step && item->is_suspect == is_suspect &&
            checkpoint_extent_equal(&item->extent, &checkpoint->extent) &&
            text_equal(item->path, checkpoint->paths[0]))
            return true;
    }
    struct told_item *item = &told->items[told->next];
    told->next = (told->next + 1) % TOLD_MAX;
    free(item->path);
    *item = (struct told_item){.path = xstrdup(checkpoint->paths[0]),
                               .step = checkpoint->step,
                               .extent = checkpoint->extent,
                               .is_suspect = is_suspect};
    return false;
}

void told_fini(struct told *told)
{
    for (size_t i = 0; i < TOLD_MAX; i++)
        free(told->items[i].path);
}
