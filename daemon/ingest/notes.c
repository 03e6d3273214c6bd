/* Notes of runs. */
#include "daemon/ingest/ingest_private.h"
#include "daemon/loop/loop.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <errno.h>
#include <stdlib.h>

struct notes *notes_get(struct ingest *ingest, uint64_t run)
{
    struct notes *notes = map_find(&ingest->notes, run);
    if (notes)
        return notes;
    notes = xcalloc(1, sizeof *notes);
    notes->run = run;
    notes->step = -1;
    notes->saved = json_array();
    notes->suspect = saved_no_limit;
    map_put(&ingest->notes, run, notes);
    return notes;
}

void notes_forget(struct ingest *ingest, uint64_t run)
{
    struct notes *notes = map_remove(&ingest->notes, run);
    if (!notes)
        return;
    for (size_t i = 0; i < notes->node_count; i++) {
        free(notes->nodes[i]->name);
        free(notes->nodes[i]);
    }
    free(notes->nodes);
    json_decref(notes->outcome);
    json_decref(notes->saved);
    free(notes);
}

void notes_sweep(struct ingest *ingest)
{
    const struct notes *notes;
    size_t at = 0;
    while ((notes = map_next(&ingest->notes, &at)))
        if (!notes->is_late && !loop_run(ingest->loop, notes->run))
            notes_forget(ingest, notes->run);
}

void notes_committed(struct ingest *ingest)
{
    const struct notes *notes;
    size_t at = 0;
    while (ingest->has_saved && (notes = map_next(&ingest->notes, &at)))
        (void)json_array_clear(notes->saved);
    ingest->has_saved = false;
}

void notes_fini(void *state)
{
    struct ingest *ingest = state;
    uint64_t run;
    while (map_any(&ingest->notes, &run))
        notes_forget(ingest, run);
    map_fini(&ingest->notes);
}

int notes_node(struct ingest *ingest, struct notes *notes, const char *name,
               struct notes_node **ret_node, struct error *err)
{
    for (size_t i = 0; i < notes->node_count; i++) {
        if (!text_equal(notes->nodes[i]->name, name))
            continue;
        *ret_node = notes->nodes[i];
        return 0;
    }
    if (notes->node_count == NOTES_NODES_MAX)
        return error_set(err, -E2BIG, "run %llu has too many nodes",
                         (unsigned long long)notes->run);
    uint64_t taken;
    int status = store_journal_committed(loop_store(ingest->loop), notes->run, name, &taken, err);
    if (status < 0)
        return status;
    struct notes_node *node = xcalloc(1, sizeof *node);
    notes->nodes = xrealloc(notes->nodes, (notes->node_count + 1) * sizeof *notes->nodes);
    *node = (struct notes_node){.name = xstrdup(name), .taken = taken};
    notes->nodes[notes->node_count++] = node;
    *ret_node = node;
    return 0;
}
