/* The room that listens to workers. It also makes old samples coarser. */
#include "daemon/ingest/ingest.h"

#include "daemon/ingest/ingest_private.h"
#include "daemon/loop/loop.h"
#include "daemon/store/store.h"
#include "lib/memory.h"

#include <stdlib.h>

enum {
    LOOK_EVERY_MS = 10 * 1000,
    AGEING_LOOKS = 60,       /* between two calls of the ageing */
    OUTCOME_RETRY_MS = 5000, /* then all journals of the run are read again */
};

/* --- Ageing ----------------------------------------------------------------------------------- */

/* The record's samples of GPUs get coarser as they age (store_samples_age), so that months of
 * training stay small. Each call does a small part, because it takes a turn of the loop. */

static int ageing_write(struct loop_item *item, struct store *store, struct error *err)
{
    (void)item;
    return store_samples_age(store, loop_now_ms(), err);
}

static void ageing_post(struct loop *loop)
{
    struct loop_item *item = xcalloc(1, sizeof *item);
    *item = (struct loop_item){.write = ageing_write, .free = free};
    loop_post_item(loop, item, NULL);
}

/* --- The room --------------------------------------------------------------------------------- */

static int carry_read_outcome(void *state, const struct core_effect *effect)
{
    const struct ingest *ingest = state;
    if (journal_read_outcome(state, effect->run))
        return CARRIED_OUT;
    return CARRIED_LATER_MS + (ingest_is_full(ingest) ? 1 : OUTCOME_RETRY_MS);
}

static void ingest_look(void *state)
{
    struct ingest *ingest = state;
    lead_read_silent(ingest);
    if (ingest_is_full(ingest))
        loop_look(ingest->loop, &ingest_room, 0); /* for the rest */
    notes_sweep(ingest);
    if (++ingest->looks % AGEING_LOOKS == 0)
        ageing_post(ingest->loop);
}

static void ingest_turned(void *state)
{
    struct ingest *ingest = state;
    lead_turned(ingest);
    if (loop_trouble(ingest->loop))
        return; /* what was posted waits for a commit */
    notes_committed(ingest);
    ingest->read = 0;
}

const struct room ingest_room = {
    .state_size = sizeof(struct ingest),
    .carry = {[FX_READ_OUTCOME] = carry_read_outcome,
              [FX_SEAL] = lead_seal,
              [FX_TELL_STOP] = lead_tell,
              [FX_TELL_NEXT] = lead_tell_next,
              [FX_TELL_END] = lead_tell},
    .turned = ingest_turned,
    .every_ms = LOOK_EVERY_MS,
    .look = ingest_look,
    .fini = notes_fini,
};
