/* Takes journals. The entries and the events that follow from them are committed in one turn. */
#include "daemon/ingest/entry.h"
#include "daemon/ingest/ingest_private.h"
#include "daemon/launch/launch.h"
#include "daemon/loop/loop.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/protocol/journal_file.h"
#include "lib/protocol/message.h"
#include "lib/protocol/outcome.h"
#include "lib/protocol/told_checkpoint.h"
#include "lib/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* How long after a job's end a file server may still hide what the nodes have written. A folder
     * that is opened after this time shows everything. The core waits longer for an outcome. */
    SHOWN_MS = 4000,
    UNREAD_MAX_MS = 300 * 1000, /* how long to wait for a file that cannot be read */
};

struct journal_item {
    struct loop_item item;
    struct entry_origin origin;
    char *node;
    json_t *entries;
    size_t begin, end; /* the entries that are taken */
    uint64_t committed;
    bool is_late; /* the entries are acknowledged, but not recorded */
    struct ingest_waiter waiter;
};

/* --- The item --------------------------------------------------------------------------------- */

static int item_write(struct loop_item *base, struct store *store, struct error *err)
{
    struct journal_item *item = (struct journal_item *)base;
    for (size_t i = item->begin; i < item->end && !item->is_late; i++) {
        struct entry entry = entry_read(json_array_get(item->entries, i));
        int status = entry_write(&entry, &item->origin, store, err);
        if (status < 0)
            return status;
    }
    return store_journal_set(store, item->origin.run, item->node, item->committed, err);
}

static void item_done(struct loop_item *base, const struct error *failure)
{
    struct journal_item *item = (struct journal_item *)base;
    if (item->waiter.done)
        item->waiter.done(item->waiter.context, item->committed, failure);
}

static void item_free(void *context)
{
    struct journal_item *item = context;
    json_decref(item->entries);
    free(item->node);
    free(item);
}

/* --- Ends ------------------------------------------------------------------------------------- */

static bool finals_are_taken(struct ingest *ingest, struct notes *notes, const json_t *outcome)
{
    json_t *finals = outcome_view(outcome).finals;
    const char *name;
    json_t *final;
    json_object_foreach(finals, name, final)
    {
        struct notes_node *node;
        if (notes_node(ingest, notes, name, &node, NULL) < 0 ||
            (json_int_t)node->taken < json_integer_value(final))
            return false;
    }
    return true;
}

static struct journal_item *item_new(struct notes *notes, const struct run *run, const char *name,
                                     json_t *entries)
{
    struct journal_item *item = xcalloc(1, sizeof *item);
    *item = (struct journal_item){
        .item = {.done = item_done, .free = item_free, .adds_history = true},
        .origin = {.run = notes->run},
        .node = xstrdup(name),
        .entries = entries,
    };
    item->origin.node = item->node;
    if (run) {
        item->origin.phase = run->phase->id;
        item->origin.workflow = run->phase->workflow->id;
    }
    return item;
}

/* Some entries that the outcome counts are in no journal, and will not come any more. The record is
 * told before it is told of the end, so that no gate is judged as if the entries were there. */
static void post_losses(struct ingest *ingest, struct notes *notes, const struct run *run,
                        const json_t *outcome)
{
    const char *name;
    json_t *finals = outcome_view(outcome).finals, *final;
    json_object_foreach(finals, name, final)
    {
        struct notes_node *node;
        uint64_t last = json_integer_value(final) > 0 ? (uint64_t)json_integer_value(final) : 0;
        if (notes_node(ingest, notes, name, &node, NULL) < 0 || node->taken >= last)
            continue;
        json_t *entries = json_pack("[o]", entry_lost((int64_t)node->taken + 1, (int64_t)last,
                                                      (double)loop_now_ms() / 1000));
        struct journal_item *item = item_new(notes, run, name, entries);
        item->end = 1;
        item->committed = node->taken = last;
        item->item.write = item_write;
        loop_post_item(ingest->loop, &item->item, NULL);
    }
}

static void post_left(struct ingest *ingest, const struct notes *notes, struct run *run)
{
    if (run->state != RUN_ENDED)
        (void)search_left(ingest->loop, run, notes->saved, &notes->suspect);
}

static void post_end(struct ingest *ingest, struct notes *notes, struct run *run,
                     const json_t *outcome)
{
    struct core_event event = {.step = -1};
    struct outcome told = outcome_view(outcome);
    if (notes->has_ended || !run || !entry_outcome(&told, &event))
        return;
    notes->has_ended = true;
    post_losses(ingest, notes, run, outcome);
    post_left(ingest, notes, run);
    event.workflow = run->phase->workflow;
    event.run = run;
    struct loop_item *failure = entry_failure_item(run, &told);
    if (failure)
        loop_post_item(ingest->loop, failure, &event);
    else
        loop_post(ingest->loop, &event);
}

/* --- Taking ----------------------------------------------------------------------------------- */

/* The run has begun. Its run.json says from which checkpoint. The daemon wrote run.json when it
 * looked at the files, unless the lead wrote it: a lead that was alone, or that found a newer
 * checkpoint. */
static void post_started(struct ingest *ingest, struct core_event *event)
{
    struct folder folder;
    const struct run *run = event->run;
    folder_init(&folder, loop_config(ingest->loop)->home, run);
    json_t *resume;
    if (folder_resume(&folder, &resume) == 0)
        event->path = "";
    struct told_checkpoint from = told_checkpoint_read(resume);
    if (from.path) {
        event->path = from.path;
        event->step = from.step;
    }
    if (from.path && (!run->resume_path || !text_equal(from.path, run->resume_path)))
        (void)search_again(ingest->loop, run); /* recorded before the run begins */
    loop_post(ingest->loop, event);
    json_decref(resume);
    folder_fini(&folder);
}

/* Sends the core back to the newest checkpoint before the suspect step. */
static void post_suspect(struct ingest *ingest, struct notes *notes, struct core_event *event)
{
    json_t *good = NULL;
    struct error err;
    saved_limit_lower(&notes->suspect, event->since, event->suspected_ms);
    if (resume_before(loop_store(ingest->loop), event->run, event->since, notes->saved, &good,
                      &err) < 0)
        log_line("could not read the checkpoints of run %llu: %s",
                 (unsigned long long)event->run->id, err.message);
    struct told_checkpoint told = told_checkpoint_read(good);
    event->path = told.path;
    event->step = told.step;
    loop_post(ingest->loop, event);
    json_decref(good);
}

static void post_entry(struct ingest *ingest, struct notes *notes, struct run *run, json_t *json)
{
    struct entry entry = entry_read(json);
    char buffer[REASON_MAX];
    struct core_event event;
    if (entry.type == ENTRY_ENDED) {
        post_end(ingest, notes, run, json);
        return;
    }
    if (entry.type == ENTRY_CHECKPOINT) {
        if (json_array_append(notes->saved, json) < 0)
            abort();
        ingest->has_saved = true;
    }
    if (!run || !entry_event(&entry, buffer, &event))
        return;
    event.workflow = run->phase->workflow;
    event.run = run;
    if (event.kind == EV_RUN_STARTED)
        post_started(ingest, &event);
    else if (event.kind == EV_SUSPECT)
        post_suspect(ingest, notes, &event);
    else
        loop_post(ingest->loop, &event);
}

/* Posts one event for all metric rows of a push. */
static void post_progress(struct ingest *ingest, struct notes *notes, struct run *run,
                          const struct journal_item *item)
{
    int64_t begin_step = -1, last_step = notes->step;
    for (size_t i = item->begin; i < item->end; i++) {
        struct entry entry = entry_read(json_array_get(item->entries, i));
        bool has_step = entry.type == ENTRY_METRIC && !entry.is_stepless && entry.step >= 0;
        int64_t step = has_step ? entry.step : -1;
        if (begin_step < 0)
            begin_step = step;
        if (step > last_step)
            last_step = step;
    }
    if (last_step <= notes->step || !run)
        return;
    notes->step = last_step;
    struct core_event event = {.kind = EV_PROGRESS,
                               .workflow = run->phase->workflow,
                               .run = run,
                               .begin_step = begin_step,
                               .step = last_step};
    loop_post(ingest->loop, &event);
}

/* Finds the entries that follow the entries taken so far: [begin, end). The lead's `ended` must
 * wait for the entries that it counts. */
static void item_choose(struct ingest *ingest, struct notes *notes, struct notes_node *node,
                        struct journal_item *item)
{
    size_t count = json_array_size(item->entries), i = 0;
    while (i < count && (uint64_t)entry_read(json_array_get(item->entries, i)).seq <= node->taken)
        i++;
    item->begin = i;
    for (; i < count; i++) {
        struct entry entry = entry_read(json_array_get(item->entries, i));
        if ((uint64_t)entry_first(&entry) != node->taken + 1)
            break;
        if (entry.type == ENTRY_ENDED && !finals_are_taken(ingest, notes, entry.json)) {
            json_decref(notes->outcome);
            notes->outcome = json_incref(entry.json);
            break;
        }
        node->taken = (uint64_t)entry.seq;
    }
    item->end = i;
    item->committed = node->taken;
}

/* Whether the entries come too late: the run was declared over before its worker told the end. What
 * the worker has done since then must not be recorded as part of the run. */
static bool is_late(struct ingest *ingest, struct notes *notes, const struct run *run,
                    const struct journal_item *item)
{
    if (!notes->is_late && run && run->state == RUN_ENDED && item->end > item->begin) {
        struct folder folder;
        folder_init(&folder, loop_config(ingest->loop)->home, run);
        notes->is_late = outcome_is_sealed(folder.run, NULL);
        if (notes->is_late)
            loop_warn(ingest->loop, run,
                      "the run is over, but a worker (%s) still reports: phased does not record "
                      "these reports; they are in %s/journal",
                      item->node, folder.run);
        folder_fini(&folder);
    }
    return notes->is_late;
}

/* Takes the reference to `entries`. */
static int take_entries(struct ingest *ingest, struct notes *notes, const char *name,
                        json_t *entries, const struct ingest_waiter *waiter, struct error *err)
{
    struct notes_node *node;
    int status = notes_node(ingest, notes, name, &node, err);
    if (status < 0) {
        json_decref(entries);
        return status;
    }
    struct run *run = loop_run(ingest->loop, notes->run);
    struct journal_item *item = item_new(notes, run, name, entries);
    item->waiter = waiter ? *waiter : (struct ingest_waiter){0};
    item_choose(ingest, notes, node, item);
    if (item->end > item->begin)
        item->item.write = item_write;
    item->is_late = is_late(ingest, notes, run, item);
    loop_post_item(ingest->loop, &item->item, NULL);
    if (item->is_late)
        return 0;
    for (size_t i = item->begin; i < item->end; i++)
        post_entry(ingest, notes, run, json_array_get(entries, i));
    post_progress(ingest, notes, run, item);
    if (notes->outcome && !notes->has_ended && finals_are_taken(ingest, notes, notes->outcome))
        post_end(ingest, notes, run, notes->outcome);
    return 0;
}

/* --- Files ------------------------------------------------------------------------------------ */

/* How a file is read. */
enum reading_kind {
    READ_QUIETLY,
    READ_AND_WARN, /* warns of a file that is wrong while the run goes on, once for each node */
    READ_LAST,     /* nobody writes any more: missing entries before another entry are lost */
};

/* Whether a later read may succeed: the file is there, and the system could not read it. `status`
 * is 0 or a negative errno. */
static bool is_trouble(int status)
{
    return status != 0 && status != -ENOENT && status != -EINVAL && status != -EFBIG;
}

/* Warns of a wrong file. A file that was removed or cut is not reported here: its writer reports
 * it, and goes on behind what is left. */
static void warn_of_file(struct ingest *ingest, const struct notes *notes, struct notes_node *node,
                         const struct reading *reading)
{
    const struct run *run = loop_run(ingest->loop, notes->run);
    int failed = reading->file.failed == ENOENT ? 0 : reading->file.failed;
    uint64_t stray = reading->order.stray;
    if (node->is_warned || !run || (!failed && !reading->gap_first && !stray))
        return;
    node->is_warned = true;
    if (failed == EFBIG)
        loop_warn(ingest->loop, run,
                  "the journal of %s has a line of more than %d MiB: it is passed over", node->name,
                  JOURNAL_LINE_MAX >> 20);
    else if (failed)
        loop_warn(ingest->loop, run, "the journal of %s cannot be read: %s", node->name,
                  strerror(failed));
    else if (stray)
        loop_warn(ingest->loop, run,
                  "the journal of %s has entry %" PRIu64 " in a wrong place: it is passed over",
                  node->name, stray);
    else
        loop_warn(ingest->loop, run, "the journal of %s lacks entries %" PRIu64 " to %" PRIu64,
                  node->name, reading->gap_first, reading->gap_last);
}

/* Takes the entries of the file that were not taken yet. False: a file that nobody writes any more
 * could not be read now, or the rest of the file must wait for another turn. */
static bool read_node(struct ingest *ingest, struct notes *notes, const char *folder,
                      const char *name, enum reading_kind how)
{
    struct notes_node *node;
    struct reading reading;
    if (ingest_is_full(ingest))
        return false;
    if (notes_node(ingest, notes, name, &node, NULL) < 0)
        return true;
    reading_open(&reading, folder, name, node->taken, how == READ_LAST);
    /* The last reading begins anew, so it misses nothing even if the file was cut and has grown
     * again. */
    bool is_skipped =
        (how != READ_LAST || node->mark.is_last) && reading_skip(&reading, &node->mark);
    while (!ingest_is_full(ingest) && reading_next(&reading)) {
        ingest->read += json_array_size(reading.entries);
        /* Entries that are not taken stay missing. */
        (void)take_entries(ingest, notes, name, reading.entries, NULL, NULL);
    }
    reading_set_mark(&reading, node->taken, &node->mark);
    if (is_skipped && how != READ_LAST && (reading.gap_first || reading.order.stray)) {
        node->mark = (struct reading_mark){0};
        reading_close(&reading);
        return read_node(ingest, notes, folder, name, how);
    }
    bool is_cut = ingest_is_full(ingest) && !reading.is_end;
    bool is_read = !is_cut && (how != READ_LAST || !is_trouble(-reading.file.failed));
    if (how == READ_AND_WARN || reading.order.stray || (!is_read && !is_cut))
        warn_of_file(ingest, notes, node, &reading);
    reading_close(&reading);
    return is_read;
}

/* Reads the journals of the nodes whose entries the outcome counts and that were not all taken.
 * False: as with read_node(). */
static bool read_missing(struct ingest *ingest, struct notes *notes, struct run *run,
                         const json_t *outcome, enum reading_kind how)
{
    bool is_read = true;
    struct folder folder;
    folder_init(&folder, loop_config(ingest->loop)->home, run);
    const char *name;
    json_t *finals = outcome_view(outcome).finals, *final;
    json_object_foreach(finals, name, final)
    {
        struct notes_node *node;
        if (text_is_node(name) && notes_node(ingest, notes, name, &node, NULL) == 0 &&
            (json_int_t)node->taken < json_integer_value(final))
            is_read &= read_node(ingest, notes, folder.run, name, how);
    }
    folder_fini(&folder);
    return is_read;
}

static bool read_nodes(struct ingest *ingest, struct notes *notes, const char *folder,
                       enum reading_kind how)
{
    file_look_again(folder); /* the lead makes the folder of the journals, and outcome.json */
    json_t *nodes = journal_nodes(folder), *node;
    bool is_read = true;
    size_t i;
    json_array_foreach(nodes, i, node)
    {
        is_read &= read_node(ingest, notes, folder, json_string_value(node), how);
    }
    json_decref(nodes);
    return read_node(ingest, notes, folder, "lead", how) && is_read;
}

/* Reads outcome.json. NULL: the file is absent or damaged, another job's lead wrote it, or it could
 * not be read now. In the last case `is_read` becomes false. A lead that was believed gone may
 * still tell the end of its own run in a folder that belongs to another job by now. */
static json_t *read_outcome_file(struct ingest *ingest, struct notes *notes, const struct run *run,
                                 const char *folder, bool *is_read)
{
    json_t *outcome;
    struct error err;
    if (is_trouble(message_read(&outcome, &err, "%s/outcome.json", folder))) {
        if (!notes->is_warned)
            loop_warn(ingest->loop, run, "%s; phased tries again for %d minutes", err.message,
                      UNREAD_MAX_MS / 60000);
        notes->is_warned = true;
        *is_read = false;
    }
    struct outcome told = outcome_view(outcome);
    if (told.token[0] && !run_is_served_by(run, told.token)) {
        if (!notes->has_foreign)
            loop_warn(ingest->loop, run,
                      "%s/outcome.json is passed over: a lead of another job has left it", folder);
        notes->has_foreign = true;
        json_decref(outcome);
        outcome = NULL;
    }
    return outcome;
}

/* --- Public ----------------------------------------------------------------------------------- */

/* Finds the run in memory, or in the record if its workflow is over. NULL: there is no such run. */
static struct run *find_run(struct ingest *ingest, uint64_t id)
{
    struct workflow *loaded;
    uint64_t workflow;
    if (!loop_run(ingest->loop, id) &&
        store_find_run(loop_store(ingest->loop), id, &workflow, NULL) == 0)
        (void)loop_workflow(ingest->loop, workflow, &loaded, NULL); /* may fail: no such run */
    return loop_run(ingest->loop, id);
}

/* A run that is not in memory gets no notes. */
void ingest_heard(struct loop *loop, uint64_t run)
{
    struct ingest *ingest = loop_room(loop, &ingest_room);
    if (loop_run(loop, run))
        notes_get(ingest, run)->heard_ms = uv_now(loop_config(loop)->uv);
}

int ingest_take(struct loop *loop, uint64_t run, const char *node, json_t *entries,
                const struct ingest_waiter *waiter, struct error *err)
{
    struct ingest *ingest = loop_room(loop, &ingest_room);
    if (!text_is_node(node))
        return error_set(err, -EINVAL, "must be a node's name: %.60s", node);
    if (!json_is_array(entries))
        return error_set(err, -EINVAL, "`entries` is not a list");
    struct notes *notes = notes_get(ingest, run);
    struct run *object = notes->is_late ? NULL : find_run(ingest, run);
    int status = take_entries(ingest, notes, node, json_incref(entries), waiter, err);
    if (status == 0 && notes->outcome && !notes->has_ended && object) {
        json_t *outcome = json_incref(notes->outcome);
        /* Pushes may come later. */
        (void)read_missing(ingest, notes, object, outcome, READ_QUIETLY);
        json_decref(outcome);
    }
    if (!object && !notes->is_late)
        notes_forget(ingest, run);
    return status;
}

void journal_catch_up(struct ingest *ingest, const struct run *run)
{
    struct folder folder;
    folder_init(&folder, loop_config(ingest->loop)->home, run);
    (void)read_nodes(ingest, notes_get(ingest, run->id), folder.run, READ_AND_WARN);
    folder_fini(&folder);
}

static bool is_over(const struct allocation *job)
{
    return job->ended && loop_now_ms() - allocation_quiet_since_ms(job) >= SHOWN_MS;
}

/* Whether nobody will tell anything more of the run. If the job is only absent, that is not known.
 * If the job was requeued since then, the run is settled. */
static bool is_settled(const struct run *run, const json_t *outcome)
{
    const struct allocation *job = run->seat->allocation;
    return is_over(job) || !job->slurm_id || job->restarts > outcome_view(outcome).restarts;
}

/* Whether to try again: the rest of the files must wait for another turn, or a file could not be
 * read, perhaps because the file server is in trouble. */
static bool is_awaited(const struct ingest *ingest, struct notes *notes, bool is_read)
{
    if (!is_read && ingest_is_full(ingest))
        return true;
    uint64_t now_ms = uv_now(loop_config(ingest->loop)->uv);
    if (!is_read && !notes->unread_ms)
        notes->unread_ms = now_ms;
    return !is_read && !notes->has_ended && now_ms - notes->unread_ms < UNREAD_MAX_MS;
}

/* Takes the reference to `outcome`. False: entries that the outcome counts are missing, and may
 * still come. */
static bool take_outcome(struct ingest *ingest, struct notes *notes, struct run *run,
                         json_t *outcome)
{
    bool is_last = is_settled(run, outcome);
    json_decref(notes->outcome);
    notes->outcome = outcome;
    json_incref(outcome); /* reading may replace notes->outcome */
    bool is_read = read_missing(ingest, notes, run, outcome, is_last ? READ_LAST : READ_QUIETLY);
    bool is_whole = (is_last && !is_awaited(ingest, notes, is_read)) ||
                    finals_are_taken(ingest, notes, outcome);
    if (is_whole)
        post_end(ingest, notes, run, outcome);
    json_decref(outcome);
    return is_whole;
}

bool journal_read_outcome(struct ingest *ingest, struct run *run)
{
    struct core_event silent = {
        .kind = EV_RUN_SILENT, .workflow = run->phase->workflow, .run = run, .step = -1};
    if (ingest_is_full(ingest))
        return false;
    struct notes *notes = notes_get(ingest, run->id);
    struct folder folder;
    folder_init(&folder, loop_config(ingest->loop)->home, run);
    bool is_last = is_over(run->seat->allocation);
    bool is_read = read_nodes(ingest, notes, folder.run, is_last ? READ_LAST : READ_QUIETLY);
    if (!is_read && ingest_is_full(ingest)) { /* the lead's journal comes before the outcome */
        folder_fini(&folder);
        return false;
    }
    json_t *outcome = read_outcome_file(ingest, notes, run, folder.run, &is_read);
    if (!outcome)
        outcome = json_incref(notes->outcome); /* the lead has told it already */
    bool is_whole =
        outcome ? take_outcome(ingest, notes, run, outcome) : !is_awaited(ingest, notes, is_read);
    if (is_whole && !notes->has_ended) {
        if (run->has_begun && is_last)
            post_left(ingest, notes, run);
        char words[REASON_MAX];
        posthumous_words(&folder, words, sizeof words);
        silent.message = words;
        if (is_last && posthumous_is_success(&folder))
            silent.outcome = OUTCOME_SUCCEEDED;
        loop_post(ingest->loop, &silent);
    }
    if (is_whole)
        notes->unread_ms = 0;
    folder_fini(&folder);
    return is_whole;
}
