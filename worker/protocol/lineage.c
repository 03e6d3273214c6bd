/* Reads the folders of a phase's runs. */
#include "worker/protocol/lineage.h"

#include "lib/checkpoint.h"
#include "lib/saved.h"
#include "lib/protocol/journal_file.h"
#include "lib/protocol/message.h"
#include "lib/text.h"
#include "lib/protocol/outcome.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LINEAGE_LOOKS_NS = 200 * 1000 * 1000 }; /* between two looks at unreported checkpoints */

/* Returns NULL if the file cannot be read. */
static json_t *lineage_run_json(const char *phase_dir, unsigned attempt)
{
    json_t *json;
    (void)message_read(&json, NULL, "%s/%u/run.json", phase_dir, attempt);
    return json;
}

/* --- Checkpoints ------------------------------------------------------------------------------ */

/* Checkpoint entries of a run, and which of them are good. */
struct lineage_entries {
    json_t *list;
    struct saved_limit good;
};

static void lineage_has_suspect(void *context, int type, const json_t *entry)
{
    struct lineage_entries *entries = context;
    const json_t *step = json_object_get(entry, "step");
    (void)type;
    if (json_is_integer(step))
        saved_limit_lower(&entries->good, json_integer_value(step),
                          (int64_t)(json_number_value(json_object_get(entry, "time")) * 1000));
}

static void lineage_has(void *context, int type, const json_t *entry)
{
    json_t *list = ((struct lineage_entries *)context)->list;
    const json_t *path = json_object_get(entry, "path");
    const json_t *step = json_object_get(entry, "step");
    const json_t *bytes = json_object_get(entry, "bytes");
    (void)type;
    if (json_is_string(path) && json_is_integer(step) && json_is_integer(bytes))
        json_array_append(list, (json_t *)entry);
}

/* Marks the suspect checkpoints. No run continues from a suspect checkpoint by itself. If the next
 * run has continued from a checkpoint, a person has chosen it, and it is not suspect. */
static void lineage_mark_suspects(const struct lineage_entries *entries, const json_t *next)
{
    const char *chosen = json_string_value(json_object_get(next, "path"));
    for (size_t i = 0; i < json_array_size(entries->list); i++) {
        json_t *entry = json_array_get(entries->list, i);
        const char *path = json_string_value(json_object_get(entry, "path"));
        bool is_suspect = json_is_true(json_object_get(entry, "suspect")) ||
                          json_integer_value(json_object_get(entry, "step")) >= entries->good.step;
        bool is_chosen = chosen && text_equal(chosen, path);
        json_object_set_new(entry, "suspect", json_boolean(is_suspect && !is_chosen));
    }
}

/* Returns the checkpoints that one run has reported, in the order of each node's journal. */
static struct lineage_entries lineage_told(const char *phase_dir, unsigned attempt)
{
    struct lineage_entries entries = {.list = json_array(), .good = saved_no_limit};
    char *pattern = text_format("%s/%u/journal/*" JOURNAL_ENDING, phase_dir, attempt);
    glob_t paths = {0};
    if (glob(pattern, 0, NULL, &paths) != 0)
        paths.gl_pathc = 0; /* a run that never began */
    for (size_t i = 0; i < paths.gl_pathc; i++) {
        journal_visit(paths.gl_pathv[i], ENTRY_CHECKPOINT, lineage_has, &entries);
        journal_visit(paths.gl_pathv[i], ENTRY_SUSPECT, lineage_has_suspect, &entries);
    }
    globfree(&paths);
    free(pattern);
    return entries;
}

static json_int_t lineage_step(const json_t *entry)
{
    return json_integer_value(json_object_get(entry, "step"));
}

/* Returns the checkpoints that this run has reported, each of which was whole then. If there are
 * none, returns those of the newest earlier run that has reported any. A new reference, or NULL. */
static json_t *lineage_whole(const char *phase_dir, unsigned attempt)
{
    json_t *whole = NULL;
    for (; attempt > 0 && json_array_size(whole) == 0; attempt--) {
        json_decref(whole);
        whole = lineage_told(phase_dir, attempt).list;
    }
    return whole;
}

/* Whether the files are still as large as in the report. */
static bool lineage_is_whole(const json_t *entry)
{
    const char *path = json_string_value(json_object_get(entry, "path"));
    return checkpoint_is_whole(path, json_object_get(entry, "paths"),
                               json_integer_value(json_object_get(entry, "bytes")));
}

/* Adds the checkpoints that the run has left and nobody has reported, if a second look finds them
 * unchanged. */
static void lineage_add_left(const char *phase_dir, unsigned attempt,
                             const struct lineage_entries *entries)
{
    json_t *list = entries->list;
    const struct timespec pause = {.tv_nsec = LINEAGE_LOOKS_NS};
    json_t *run = lineage_run_json(phase_dir, attempt), *resume = json_object_get(run, "resume");
    json_int_t after = json_is_object(resume) ? lineage_step(resume) : -1;
    for (size_t i = 0; i < json_array_size(list); i++)
        if (lineage_step(json_array_get(list, i)) > after)
            after = lineage_step(json_array_get(list, i));
    json_t *whole = lineage_whole(phase_dir, attempt);
    json_t *left = saved_left(phase_dir, attempt, after, &entries->good, whole);
    if (json_array_size(left) > 0)
        (void)nanosleep(&pause, NULL); /* a signal may end the pause early */
    for (size_t i = 0; i < json_array_size(left); i++)
        if (lineage_is_whole(json_array_get(left, i)))
            json_array_append(list, json_array_get(left, i));
    json_decref(left);
    json_decref(whole);
    json_decref(run);
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
static bool lineage_is_empty(const char *phase_dir, unsigned attempt, const json_t *run)
{
    char *pattern = text_format("%s/%u/journal/*" JOURNAL_ENDING, phase_dir, attempt);
    char *lead = text_format("%s/%u/journal/lead" JOURNAL_ENDING, phase_dir, attempt);
    glob_t paths = {0};
    bool has_agent = false;
    if (glob(pattern, 0, NULL, &paths) == 0)
        for (size_t i = 0; i < paths.gl_pathc; i++)
            has_agent |= !text_equal(paths.gl_pathv[i], lead);
    globfree(&paths);
    free(lead);
    free(pattern);
    return !has_agent && json_is_integer(json_object_get(run, "known_step"));
}

/* Whether the checkpoint has any bytes. Nothing else is known about a checkpoint that no journal
 * has measured. */
static bool lineage_is_there(const char *path)
{
    struct checkpoint_extent extent = {0};
    return checkpoint_measure(path, &extent) == 0 && extent.bytes > 0;
}

/* Returns the newest whole checkpoint that is not suspect, up to step `step_max`; borrowed from the
 * list. NULL: there is none. If a checkpoint was reported several times, the last report counts. */
static const json_t *lineage_newest(const json_t *entries, json_int_t step_max)
{
    const json_t *newest = NULL;
    json_int_t newest_step = -1;
    for (size_t i = json_array_size(entries); i-- > 0;) {
        const json_t *entry = json_array_get(entries, i);
        json_int_t step = json_integer_value(json_object_get(entry, "step"));
        bool is_suspect = json_is_true(json_object_get(entry, "suspect"));
        if (step > newest_step && step <= step_max && !is_suspect && lineage_is_whole(entry)) {
            newest = entry;
            newest_step = step;
        }
    }
    return newest;
}

static json_t *lineage_reference(const json_t *checkpoint)
{
    return json_pack("{s:O, s:O}", "path", json_object_get(checkpoint, "path"), "step",
                     json_object_get(checkpoint, "step"));
}

static bool lineage_names(const json_t *entries, const char *path)
{
    size_t i;
    json_t *entry;
    json_array_foreach(
        entries, i,
        entry) if (text_equal(path, json_string_value(json_object_get(entry, "path")))) return true;
    return false;
}

json_t *lineage_checkpoint(const char *phase_dir, unsigned attempt)
{
    json_t *found = NULL, *origin = NULL; /* where the oldest run so far began */
    bool is_origin_known = false;
    json_int_t step_max = INT64_MAX;
    for (unsigned i = attempt; i > 0 && !found && step_max >= 0; i--) {
        json_t *run = lineage_run_json(phase_dir, i);
        if (lineage_is_empty(phase_dir, i, run)) {
            json_decref(run);
            continue;
        }
        json_t *entries = lineage_entries(phase_dir, i, origin);
        const json_t *newest = lineage_newest(entries, step_max);
        found = newest ? lineage_reference(newest) : NULL;
        if (origin)
            is_origin_known |=
                lineage_names(entries, json_string_value(json_object_get(origin, "path")));
        const json_t *resume = json_object_get(run, "resume");
        const json_t *step = json_object_get(resume, "step");
        if (run && !json_is_object(resume))
            step_max = -1; /* it began anew, so earlier checkpoints do not count */
        else if (json_is_integer(step) && json_integer_value(step) <= step_max) {
            step_max = json_integer_value(step);
            json_decref(origin);
            origin =
                json_is_string(json_object_get(resume, "path")) ? lineage_reference(resume) : NULL;
            is_origin_known = false;
        }
        json_decref(entries);
        json_decref(run);
    }
    /* The oldest run began at a checkpoint that no journal has measured. */
    bool is_usable = !found && origin && !is_origin_known && step_max >= 0 &&
                     lineage_is_there(json_string_value(json_object_get(origin, "path")));
    if (is_usable)
        found = json_incref(origin);
    json_decref(origin);
    return found ? found : json_null();
}

json_t *lineage_saved(const char *phase_dir, unsigned attempt, const json_t *resume)
{
    json_t *saved = json_object(), *next = json_incref((json_t *)resume);
    json_int_t step_max = json_is_object(resume) ? lineage_step(resume) : -1;
    for (unsigned i = attempt; i > 0; i--) {
        json_t *run = lineage_run_json(phase_dir, i);
        if (lineage_is_empty(phase_dir, i, run)) {
            json_decref(run);
            continue;
        }
        json_t *entries = lineage_entries(phase_dir, i, next);
        for (size_t j = json_array_size(entries); j-- > 0;) {
            const json_t *entry = json_array_get(entries, j);
            const char *path = json_string_value(json_object_get(entry, "path"));
            bool is_good = lineage_step(entry) <= step_max &&
                           !json_is_true(json_object_get(entry, "suspect")) &&
                           lineage_is_whole(entry);
            if (!json_object_get(saved, path)) /* a later run may have written it again */
                json_object_set_new(saved, path, json_boolean(is_good));
        }
        json_t *from = json_object_get(run, "resume");
        /* The run began anew, but nobody asked for it. Earlier checkpoints may only have been
         * unreadable, so they are left alone. */
        bool is_by_chance = !json_is_object(from) && !json_is_true(json_object_get(run, "anew"));
        if (!json_is_object(from))
            step_max = -1;
        else if (lineage_step(from) < step_max)
            step_max = lineage_step(from);
        json_decref(next);
        next = json_incref(from);
        json_decref(entries);
        json_decref(run);
        if (is_by_chance)
            break;
    }
    json_decref(next);
    return saved;
}

/* --- Runs ------------------------------------------------------------------------------------- */

unsigned lineage_numbered(const char *phase_dir, unsigned attempt)
{
    for (; attempt > 0; attempt--) {
        json_t *run = lineage_run_json(phase_dir, attempt);
        bool is_numbered = json_integer_value(json_object_get(run, "run")) > 0;
        json_decref(run);
        if (is_numbered)
            break;
    }
    return attempt;
}

static bool lineage_is_stuck(const char *phase_dir, unsigned attempt)
{
    char *run_dir = text_format("%s/%u", phase_dir, attempt);
    json_t *run = lineage_run_json(phase_dir, attempt);
    json_t *entries = lineage_entries(phase_dir, attempt, NULL), *entry;
    json_int_t began = json_integer_value(json_object_get(json_object_get(run, "resume"), "step"));
    struct outcome outcome;
    bool is_stuck = false;
    size_t i;
    if (outcome_read(run_dir, NULL, &outcome, NULL) == 0) {
        is_stuck = !outcome.has_step || outcome.last_step <= began;
        outcome_fini(&outcome);
    }
    json_array_foreach(entries, i, entry) is_stuck &=
        json_integer_value(json_object_get(entry, "step")) <= began;
    json_decref(entries);
    json_decref(run);
    free(run_dir);
    return is_stuck;
}

unsigned lineage_stuck(const char *phase_dir, unsigned attempt)
{
    unsigned count = 0;
    while (count < attempt && lineage_is_stuck(phase_dir, attempt - count))
        count++;
    return count;
}
