/* Reads the folders of a phase's runs. */
#include "worker/protocol/lineage.h"

#include "lib/checkpoint.h"
#include "lib/protocol/journal_file.h"
#include "lib/protocol/outcome.h"
#include "lib/protocol/run_file.h"
#include "lib/protocol/told_checkpoint.h"
#include "lib/saved.h"
#include "lib/text.h"

#include <stdlib.h>
#include <time.h>

enum { LINEAGE_LOOKS_NS = 200 * 1000 * 1000 }; /* between two looks at unreported checkpoints */

/* Reads the run.json of a run. A file that cannot be read is as if it were empty. */
static struct run_file lineage_run(const char *phase_dir, unsigned attempt)
{
    struct run_file run;
    char *run_dir = text_format("%s/%u", phase_dir, attempt);
    (void)run_file_read(run_dir, &run, NULL);
    free(run_dir);
    return run;
}

/* --- Checkpoints ------------------------------------------------------------------------------ */

/* Checkpoint entries of a run, and which of them are good. */
struct lineage_entries {
    json_t *list;
    struct saved_limit good;
};

static void lineage_has_suspect(void *context, const struct entry *entry)
{
    struct lineage_entries *entries = context;
    if (entry->step >= 0)
        saved_limit_lower(&entries->good, entry->step, (int64_t)(entry->time * 1000));
}

static void lineage_has(void *context, const struct entry *entry)
{
    json_t *list = ((struct lineage_entries *)context)->list;
    struct told_checkpoint told = told_checkpoint_read(entry->json);
    if (told.path && told.step >= 0 && told.bytes >= 0)
        json_array_append(list, entry->json);
}

/* Marks the suspect checkpoints. No run continues from a suspect checkpoint by itself. If the next
 * run has continued from a checkpoint, a person has chosen it, and it is not suspect. */
static void lineage_mark_suspects(const struct lineage_entries *entries, const json_t *next)
{
    const char *chosen = told_checkpoint_read(next).path;
    for (size_t i = 0; i < json_array_size(entries->list); i++) {
        json_t *entry = json_array_get(entries->list, i);
        struct told_checkpoint told = told_checkpoint_read(entry);
        bool is_suspect = told.is_suspect || told.step >= entries->good.step;
        bool is_chosen = chosen && text_equal(chosen, told.path);
        told_checkpoint_mark(entry, is_suspect && !is_chosen);
    }
}

/* Returns the checkpoints that one run has reported, in the order of each node's journal. */
static struct lineage_entries lineage_told(const char *phase_dir, unsigned attempt)
{
    struct lineage_entries entries = {.list = json_array(), .good = saved_no_limit};
    char *run_dir = text_format("%s/%u", phase_dir, attempt);
    json_t *nodes = journal_nodes(run_dir), *node;
    size_t i;
    json_array_foreach(nodes, i, node)
    {
        char *path = journal_path(run_dir, json_string_value(node));
        journal_visit(path, ENTRY_CHECKPOINT, lineage_has, &entries);
        journal_visit(path, ENTRY_SUSPECT, lineage_has_suspect, &entries);
        free(path);
    }
    json_decref(nodes);
    free(run_dir);
    return entries;
}

/* Returns the checkpoints of this run that its agents have seen whole. If there are no such
 * checkpoints, returns those of the newest earlier run that has some. `told` is what this run has
 * reported. A new reference. */
static json_t *lineage_whole(const char *phase_dir, unsigned attempt, const json_t *told)
{
    json_t *whole = json_copy((json_t *)told);
    for (;;) {
        for (size_t i = json_array_size(whole); i-- > 0;)
            if (told_checkpoint_read(json_array_get(whole, i)).is_unseen)
                (void)json_array_remove(whole, i); /* cannot fail: the index exists */
        if (json_array_size(whole) > 0 || --attempt == 0)
            return whole;
        json_decref(whole);
        whole = lineage_told(phase_dir, attempt).list;
    }
}

/* Whether the files are still as large as in the report. */
static bool lineage_is_whole(const struct told_checkpoint *told)
{
    return checkpoint_is_whole(told->path, told->paths, told->bytes);
}

/* Returns the checkpoints that the run has left and nobody has reported. A new reference. */
static json_t *lineage_left(const char *phase_dir, unsigned attempt,
                            const struct lineage_entries *entries)
{
    struct run_file run = lineage_run(phase_dir, attempt);
    int64_t after = told_checkpoint_read(run.resume).step;
    for (size_t i = 0; i < json_array_size(entries->list); i++) {
        int64_t step = told_checkpoint_read(json_array_get(entries->list, i)).step;
        after = step > after ? step : after;
    }
    json_t *whole = lineage_whole(phase_dir, attempt, entries->list);
    json_t *left = saved_left(phase_dir, attempt, after, &entries->good, whole);
    json_decref(whole);
    run_file_fini(&run);
    return left;
}

/* Adds the checkpoints that the run has left and nobody has reported, if a second look finds them
 * unchanged. */
static void lineage_add_left(const char *phase_dir, unsigned attempt,
                             const struct lineage_entries *entries)
{
    const struct timespec pause = {.tv_nsec = LINEAGE_LOOKS_NS};
    json_t *left = lineage_left(phase_dir, attempt, entries);
    if (json_array_size(left) > 0)
        (void)nanosleep(&pause, NULL); /* a signal may end the pause early */
    for (size_t i = 0; i < json_array_size(left); i++) {
        struct told_checkpoint told = told_checkpoint_read(json_array_get(left, i));
        if (lineage_is_whole(&told))
            json_array_append(entries->list, json_array_get(left, i));
    }
    json_decref(left);
}

/* Returns the checkpoints of one run. `next` is the checkpoint from which the next run continued;
 * NULL: there is no such checkpoint. */
static json_t *lineage_entries(const char *phase_dir, unsigned attempt, const json_t *next)
{
    struct lineage_entries entries = lineage_told(phase_dir, attempt);
    lineage_add_left(phase_dir, attempt, &entries);
    lineage_mark_suspects(&entries, next);
    return entries.list;
}

/* Whether no agent has begun the run, and nobody has chosen its checkpoint. The daemon lets the
 * lead choose only in this case (`known_step`). Such a run has not rejected any checkpoint. */
static bool lineage_is_empty(const char *phase_dir, unsigned attempt, const struct run_file *run)
{
    char *run_dir = text_format("%s/%u", phase_dir, attempt);
    json_t *nodes = journal_nodes(run_dir);
    bool is_empty = json_array_size(nodes) == 0 && run->known_step != RUN_FILE_NO_CHOICE;
    json_decref(nodes);
    free(run_dir);
    return is_empty;
}

/* Whether the checkpoint has any bytes. Nothing else is known about a checkpoint that no journal
 * has measured. */
static bool lineage_is_there(const char *path)
{
    struct checkpoint_extent extent = {0};
    return checkpoint_measure(path, &extent) == 0 && extent.bytes > 0;
}

/* Returns a reference to the newest whole checkpoint that is not suspect, up to step `step_max`.
 * NULL: there is no such checkpoint. If a checkpoint was reported several times, the last report
 * counts. */
static json_t *lineage_newest(const json_t *entries, int64_t step_max)
{
    struct told_checkpoint newest = {.step = -1};
    for (size_t i = json_array_size(entries); i-- > 0;) {
        struct told_checkpoint told = told_checkpoint_read(json_array_get(entries, i));
        if (told.step > newest.step && told.step <= step_max && !told.is_suspect &&
            lineage_is_whole(&told))
            newest = told;
    }
    return newest.path ? told_checkpoint_reference(newest.path, newest.step) : NULL;
}

static bool lineage_names(const json_t *entries, const char *path)
{
    for (size_t i = 0; i < json_array_size(entries); i++)
        if (text_equal(path, told_checkpoint_read(json_array_get(entries, i)).path))
            return true;
    return false;
}

/* Returns the newest run before `attempt` that leads to the checkpoint `resume`: the run has saved
 * the checkpoint, or has also resumed from it. Runs between the two resumed elsewhere. If no run
 * leads there, returns the run just before `attempt`. */
static unsigned lineage_parent(const char *phase_dir, unsigned attempt, const json_t *resume)
{
    const char *path = told_checkpoint_read(resume).path;
    bool leads = false;
    unsigned i = attempt;
    while (path && !leads && --i > 0) {
        struct run_file run = lineage_run(phase_dir, i);
        struct lineage_entries entries = lineage_told(phase_dir, i);
        const char *from = told_checkpoint_read(run.resume).path;
        leads = (from && text_equal(from, path)) || lineage_names(entries.list, path);
        json_t *left = leads ? NULL : lineage_left(phase_dir, i, &entries);
        leads |= lineage_names(left, path);
        json_decref(left);
        json_decref(entries.list);
        run_file_fini(&run);
    }
    return leads ? i : attempt - 1;
}

json_t *lineage_checkpoint(const char *phase_dir, unsigned attempt)
{
    json_t *found = NULL, *origin = NULL; /* where the oldest run so far began */
    bool is_origin_known = false;
    int64_t step_max = INT64_MAX;
    for (unsigned i = attempt; i > 0 && !found && step_max >= 0;
         i = found ? 0 : lineage_parent(phase_dir, i, origin)) {
        struct run_file run = lineage_run(phase_dir, i);
        if (lineage_is_empty(phase_dir, i, &run)) {
            run_file_fini(&run);
            continue;
        }
        json_t *entries = lineage_entries(phase_dir, i, origin);
        found = lineage_newest(entries, step_max);
        if (origin)
            is_origin_known |= lineage_names(entries, told_checkpoint_read(origin).path);
        struct told_checkpoint from = told_checkpoint_read(run.resume);
        if (run.document && !run.resume)
            step_max = -1; /* it began anew, so earlier checkpoints do not count */
        else if (from.step >= 0 && from.step <= step_max) {
            step_max = from.step;
            json_decref(origin);
            origin = from.path ? json_incref(run.resume) : NULL;
            is_origin_known = false;
        }
        json_decref(entries);
        run_file_fini(&run);
    }
    /* The oldest run began at a checkpoint that no journal has measured. */
    bool is_usable = !found && origin && !is_origin_known && step_max >= 0 &&
                     lineage_is_there(told_checkpoint_read(origin).path);
    if (is_usable)
        found = json_incref(origin);
    json_decref(origin);
    return found;
}

json_t *lineage_saved(const char *phase_dir, unsigned attempt, const json_t *resume)
{
    json_t *saved = json_object(), *next = json_incref((json_t *)resume);
    int64_t step_max = told_checkpoint_read(resume).step;
    bool is_by_chance = false;
    unsigned parent = lineage_parent(phase_dir, attempt + 1, resume);
    for (unsigned i = attempt; i > 0 && !is_by_chance; i--) {
        struct run_file run = lineage_run(phase_dir, i);
        bool leads = i == parent, is_empty = lineage_is_empty(phase_dir, i, &run);
        json_t *entries = is_empty ? NULL : lineage_entries(phase_dir, i, next);
        for (size_t j = json_array_size(entries); j-- > 0;) {
            struct told_checkpoint told = told_checkpoint_read(json_array_get(entries, j));
            bool is_good =
                leads && told.step <= step_max && !told.is_suspect && lineage_is_whole(&told);
            if (!json_object_get(saved, told.path)) /* a later run may have written it again */
                json_object_set_new(saved, told.path, json_boolean(is_good));
        }
        if (leads && !is_empty) {
            /* The run began anew, but nobody asked for it. Earlier checkpoints may only have been
             * unreadable, so they are left alone. */
            is_by_chance = !run.resume && !run.is_anew;
            int64_t step = told_checkpoint_read(run.resume).step;
            step_max = step < step_max ? step : step_max;
            json_decref(next);
            next = json_incref(run.resume);
        }
        if (leads)
            parent = lineage_parent(phase_dir, i, next);
        json_decref(entries);
        run_file_fini(&run);
    }
    json_decref(next);
    return saved;
}

/* --- Runs ------------------------------------------------------------------------------------- */

unsigned lineage_numbered(const char *phase_dir, unsigned attempt)
{
    for (; attempt > 0; attempt--) {
        struct run_file run = lineage_run(phase_dir, attempt);
        bool is_numbered = run.run > 0;
        run_file_fini(&run);
        if (is_numbered)
            break;
    }
    return attempt;
}

/* What a run has left: where it began, and how it ended. */
struct past {
    bool has_ended, is_preempted, is_anew;
    int64_t began, last;
};

static struct past lineage_past(const char *phase_dir, unsigned attempt)
{
    char *run_dir = text_format("%s/%u", phase_dir, attempt);
    struct run_file run = lineage_run(phase_dir, attempt);
    struct outcome outcome;
    struct past past = {.is_anew = run.is_anew,
                        .last = -1,
                        .began = run.resume ? told_checkpoint_read(run.resume).step : -1};
    if (outcome_read(run_dir, NULL, &outcome, NULL) == 0) {
        past.has_ended = true;
        past.is_preempted = outcome.kind == OUTCOME_PREEMPTED;
        past.last = outcome.last_step;
        outcome_fini(&outcome);
    }
    run_file_fini(&run);
    free(run_dir);
    return past;
}

bool lineage_is_unseen(const char *phase_dir, unsigned attempt, bool has_checkpoint)
{
    bool is_seen = has_checkpoint;
    for (; attempt > 0 && !is_seen; attempt--)
        is_seen = lineage_past(phase_dir, attempt).last >= 0;
    return !is_seen;
}

/* Whether the run saved no checkpoint and made no new step: the same rule as phase_known_step() of
 * the daemon. */
static bool lineage_is_stuck(const char *phase_dir, unsigned attempt, const struct past *run,
                             bool has_checkpoint)
{
    json_t *entries = lineage_entries(phase_dir, attempt, NULL);
    struct past before = *run;
    int64_t known = run->began;
    bool is_stuck = run->has_ended;
    for (size_t i = 0; i < json_array_size(entries); i++)
        is_stuck &= told_checkpoint_read(json_array_get(entries, i)).step <= run->began;
    json_decref(entries);
    while (has_checkpoint && !before.is_anew && --attempt > 0) {
        before = lineage_past(phase_dir, attempt);
        if (!before.is_preempted || before.began != run->began)
            break;
        known = before.last > known ? before.last : known;
    }
    return is_stuck && run->last <= known;
}

unsigned lineage_stuck(const char *phase_dir, unsigned attempt, bool has_checkpoint)
{
    bool is_unseen = lineage_is_unseen(phase_dir, attempt, has_checkpoint);
    for (unsigned count = 0; count < attempt; count++) {
        struct past run = lineage_past(phase_dir, attempt - count);
        if (!lineage_is_stuck(phase_dir, attempt - count, &run, has_checkpoint) ||
            (run.is_preempted && is_unseen))
            return count;
        if (run.is_anew) /* somebody chose that the phase begins anew */
            return count + 1;
    }
    return attempt;
}
