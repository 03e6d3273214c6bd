/* Choosing checkpoints. */
#include "daemon/core/model.h"
#include "daemon/launch/launch_private.h"
#include "daemon/store/store.h"
#include "lib/checkpoint.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/protocol/told_checkpoint.h"
#include "lib/saved.h"
#include "lib/text.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { SEARCH_STEPS_MAX = 8 }; /* the most steps that a message names */

/* A checkpoint of the record, with copies of its texts. */
struct row {
    char *path;
    uint64_t run;
    int64_t step, bytes, time_ms;
    json_t *paths;
    bool is_suspect, is_unseen;
    bool is_file;  /* no later run has written to its path: the file holds this checkpoint */
    bool is_ahead; /* the checkpoint leads to where the phase is */
};

/* The checkpoints of a phase, newest step first. */
struct rows {
    struct row *items;
    size_t count;
};

static bool is_whole(const struct row *row)
{
    return checkpoint_is_whole(row->path, row->paths, row->bytes);
}

static void rows_fini(struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        free(rows->items[i].path);
        json_decref(rows->items[i].paths);
    }
    free(rows->items);
    *rows = (struct rows){0};
}

static int rows_add(void *context, const struct store_checkpoint *checkpoint)
{
    struct rows *rows = context;
    if ((rows->count & (rows->count + 1)) == 0) /* a power of two, less 1 */
        rows->items = xrealloc(rows->items, 2 * (rows->count + 1) * sizeof *rows->items);
    rows->items[rows->count++] = (struct row){
        .path = xstrdup(checkpoint->path),
        .run = checkpoint->run,
        .step = checkpoint->step,
        .bytes = checkpoint->bytes,
        .time_ms = checkpoint->time_ms,
        .paths = json_incref((json_t *)checkpoint->paths),
        .is_suspect = checkpoint->is_suspect,
        .is_unseen = checkpoint->is_unseen,
    };
    return 0;
}

/* A run that began anew overwrites a file with a lower step. So the last run counts, not the
 * highest step. */
static void rows_mark_files(struct rows *rows)
{
    json_t *writers = json_object(); /* the last run that has written to each path */
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->items[i];
        if ((json_int_t)row->run > json_integer_value(json_object_get(writers, row->path)))
            (void)json_object_set_new(writers, row->path, json_integer((json_int_t)row->run));
    }
    for (size_t i = 0; i < rows->count; i++) {
        struct row *row = &rows->items[i];
        row->is_file =
            (json_int_t)row->run == json_integer_value(json_object_get(writers, row->path));
    }
    json_decref(writers);
}

static int rows_load(struct store *store, uint64_t phase, struct rows *rows, struct error *err)
{
    int status = store_checkpoints(store, phase, rows_add, rows, err);
    rows_mark_files(rows);
    return status;
}

static bool rows_have(const struct rows *rows, uint64_t run, const char *path)
{
    for (size_t i = 0; i < rows->count; i++)
        if (rows->items[i].run == run && text_equal(rows->items[i].path, path))
            return true;
    return false;
}

/* Marks the checkpoints that lead to the checkpoint at `path`. These are the checkpoints of the run
 * that wrote it, up to its step. They also are the checkpoints of the run from which that run
 * resumed, up to the step that was taken over, and so on. Checkpoints from before a run that began
 * anew do not lead there, even if the files still exist. The search begins before the run with
 * index `before`. */
static void rows_mark(struct rows *rows, const struct phase *phase, size_t before, const char *path,
                      int64_t step)
{
    const struct workflow *workflow = phase->workflow;
    while (path && before-- > 0) {
        const struct run *run = workflow->runs[before];
        if (run->phase != phase || !rows_have(rows, run->id, path))
            continue;
        for (size_t i = 0; i < rows->count; i++)
            if (rows->items[i].run == run->id && rows->items[i].step <= step)
                rows->items[i].is_ahead = true;
        path = run->resume_path;
        step = run->resume_step;
    }
    for (size_t i = 0; path && phase->reused && i < rows->count; i++) /* in another workflow */
        if (rows_have(rows, rows->items[i].run, path) && rows->items[i].step <= step)
            rows->items[i].is_ahead = true;
}

/* How often a program that began with this checkpoint failed before its first step. A checkpoint
 * that was written again since then counts as new. */
static unsigned count_failures(const struct run *run, const struct row *row)
{
    const struct workflow *workflow = run->phase->workflow;
    unsigned count = 0;
    for (size_t i = 0; i < workflow->run_count; i++) {
        const struct run *before = workflow->runs[i];
        if (before->phase == run->phase && before != run && before->outcome == OUTCOME_FAILED &&
            before->cause == CAUSE_EXIT && !before->is_remedied && before->resume_path &&
            text_equal(before->resume_path, row->path) && before->ended_ms >= row->time_ms &&
            before->last_step <= before->resume_step)
            count++;
    }
    return count;
}

static json_t *reference(const struct row *row)
{
    return row ? told_checkpoint_reference(row->path, row->step) : NULL;
}

static size_t run_index(const struct run *run)
{
    const struct workflow *workflow = run->phase->workflow;
    size_t index = 0;
    while (index < workflow->run_count && workflow->runs[index] != run)
        index++;
    return index;
}

/* The run of the phase before this run; NULL: this run is the first. */
static const struct run *run_before(const struct run *run)
{
    const struct workflow *workflow = run->phase->workflow;
    for (size_t i = run_index(run); i-- > 0;)
        if (workflow->runs[i]->phase == run->phase)
            return workflow->runs[i];
    return NULL;
}

/* Whether a person has chosen this checkpoint for this run. A choice for the run before also
 * counts, if that run broke no guard. */
static bool is_chosen(const struct run *run, const struct row *row)
{
    const struct run *before = run_before(run);
    if (!run->resume_path || !text_equal(run->resume_path, row->path))
        return false;
    return run->phase->is_chosen || (before && before->suspect_step < 0 && before->resume_path &&
                                     text_equal(before->resume_path, row->path));
}

/* Why a phase that has checkpoints begins at its start although nobody wanted that. NULL: the phase
 * has no such reason. */
static char *begins_anew(const struct rows *rows, const struct run *run)
{
    const struct phase *phase = run->phase;
    const struct run *before = run_before(run);
    const struct row *suspect = NULL;
    for (size_t i = rows->count; before && i-- > 0;) {
        const struct row *row = &rows->items[i];
        if (row->run == before->id && row->is_file && row->is_suspect && is_whole(row))
            suspect = row;
    }
    if (suspect)
        return text_format("begins anew: no checkpoint is good; the checkpoint of step %" PRId64
                           " is suspect, saved when a guard had failed or NaN had come (phasectl "
                           "retry %" PRIu64 "/%s --from %" PRId64 " uses it anyway)",
                           suspect->step, phase->workflow->id, phase->name, suspect->step);
    if (run->resume_path)
        return text_format("begins anew: no checkpoint is whole any more, not even the one of step "
                           "%" PRId64,
                           run->resume_step);
    return NULL;
}

/* The highest recorded step of the run before, or of the checkpoints that lead to where the phase
 * is. Other checkpoints were left behind. They may have greater steps, and do not count. */
static int64_t known_step(const struct rows *rows, const struct run *before)
{
    int64_t step = -1;
    for (size_t i = 0; i < rows->count; i++)
        if ((rows->items[i].is_ahead || rows->items[i].run == before->id) &&
            rows->items[i].step > step)
            step = rows->items[i].step;
    return step;
}

int resume_choose(struct store *store, const struct run *run, struct resume *ret_resume,
                  struct error *err)
{
    struct rows rows = {0};
    const struct row *chosen = NULL, *second = NULL;
    const struct run *before = core_run_before(run);
    bool may_resume = run->resume_path || !run->phase->is_anew;
    unsigned second_failures = UINT_MAX; /* if all have failed, they are tried in turn */
    int status = may_resume ? rows_load(store, run->phase->id, &rows, err) : 0;
    rows_mark(&rows, run->phase, run_index(run), run->resume_path, run->resume_step);
    for (size_t i = 0; i < rows.count && !chosen; i++) {
        const struct row *row = &rows.items[i];
        bool is_good = !row->is_suspect || is_chosen(run, row);
        if (!row->is_file || !row->is_ahead || !is_good || !is_whole(row))
            continue;
        unsigned failures = run->phase->is_chosen ? 0 : count_failures(run, row);
        if (failures == 0) {
            chosen = row;
        } else if (failures < second_failures && !row->is_unseen) {
            second = row;
            second_failures = failures;
        }
    }
    if (!chosen)
        chosen = second;
    if (status == 0)
        *ret_resume = (struct resume){
            .from = reference(chosen),
            .why = !chosen && may_resume ? begins_anew(&rows, run) : NULL,
            .is_open = before && run->phase->has_checkpoint,
            .known_step = before ? known_step(&rows, before) : -1,
        };
    rows_fini(&rows);
    return status;
}

void resume_fini(struct resume *resume)
{
    json_decref(resume->from);
    free(resume->why);
    *resume = (struct resume){0};
}

/* If a person let the run begin with a suspect checkpoint: the newest good checkpoint before it.
 * Otherwise NULL. */
static const struct row *good_before(struct rows *rows, const struct run *run)
{
    const struct row *good = NULL;
    bool is_suspect = false;
    rows_mark(rows, run->phase, run_index(run), run->resume_path, run->resume_step);
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->items[i];
        if (!row->is_file || !row->is_ahead)
            continue;
        is_suspect |= row->is_suspect && text_equal(row->path, run->resume_path);
        if (!good && !row->is_suspect)
            good = row;
    }
    return is_suspect ? good : NULL;
}

int resume_before(struct store *store, const struct run *run, int64_t since, const json_t *more,
                  json_t **ret_resume, struct error *err)
{
    struct rows rows = {0};
    const char *path = NULL;
    int64_t step = -1;
    int status = rows_load(store, run->phase->id, &rows, err);
    for (size_t i = 0; i < rows.count; i++) {
        const struct row *row = &rows.items[i];
        if (row->run != run->id || row->is_suspect || row->step >= since || row->step <= step)
            continue;
        path = row->path;
        step = row->step;
    }
    for (size_t i = 0; i < json_array_size(more); i++) {
        struct told_checkpoint told = told_checkpoint_read(json_array_get(more, i));
        if (told.step >= since || told.step <= step || told.is_suspect)
            continue;
        path = told.path;
        step = told.step;
    }
    const struct row *good = path ? NULL : good_before(&rows, run);
    if (status == 0)
        *ret_resume = path ? told_checkpoint_reference(path, step) : reference(good);
    rows_fini(&rows);
    return status;
}

/* The checkpoints that agents have seen whole, newest last. `run` is the run that they belong to;
 * 0: all runs. A new reference. */
static json_t *told_whole(const struct rows *rows, uint64_t run)
{
    json_t *told = json_array();
    for (size_t i = rows->count; i-- > 0;) { /* the rows begin with the newest step */
        const struct row *row = &rows->items[i];
        if ((!run || row->run == run) && row->bytes >= 0 && !row->is_unseen)
            (void)json_array_append_new(
                told, told_checkpoint_to_json(&(struct told_checkpoint){.path = row->path,
                                                                        .step = row->step,
                                                                        .bytes = row->bytes,
                                                                        .paths = row->paths}));
    }
    return told;
}

int resume_left(struct store *store, const char *phase_dir, const struct run *run,
                const json_t *more, const struct saved_limit *limit, json_t **ret_left,
                struct error *err)
{
    struct rows rows = {0};
    struct saved_limit good = *limit;
    int64_t after = run->resume_path ? run->resume_step : -1;
    if (run->suspect_step >= 0)
        saved_limit_lower(&good, run->suspect_step, run->suspected_ms);
    int status = rows_load(store, run->phase->id, &rows, err);
    json_t *told = told_whole(&rows, run->id);
    (void)json_array_extend(told, (json_t *)more);
    if (json_array_size(told) == 0) {
        json_decref(told);
        told = told_whole(&rows, 0);
    }
    for (size_t i = 0; i < rows.count; i++)
        if (rows.items[i].run == run->id && rows.items[i].step > after)
            after = rows.items[i].step;
    for (size_t i = 0; i < json_array_size(more); i++) {
        int64_t at = told_checkpoint_read(json_array_get(more, i)).step;
        after = at > after ? at : after;
    }
    if (status == 0)
        *ret_left = saved_left(phase_dir, run->attempt, after, &good, told);
    json_decref(told);
    rows_fini(&rows);
    return status;
}

/* Whether the phase's newest run has a suspect checkpoint. */
static bool is_newest_suspect(const struct rows *rows, const struct phase *phase)
{
    for (size_t i = 0; phase->run && i < rows->count; i++)
        if (rows->items[i].run == phase->run->id && rows->items[i].is_suspect)
            return true;
    return false;
}

int resume_previous(struct store *store, const struct phase *phase, json_t **ret_resume,
                    struct error *err)
{
    struct rows rows = {0};
    const struct row *newest = NULL, *previous = NULL;
    int status = phase->checkpoint_path ? rows_load(store, phase->id, &rows, err) : 0;
    rows_mark(&rows, phase, phase->workflow->run_count, phase->checkpoint_path,
              phase->checkpoint_step);
    bool is_suspect = is_newest_suspect(&rows, phase);
    for (size_t i = 0; i < rows.count && !previous; i++) {
        const struct row *row = &rows.items[i];
        if (!row->is_file || !row->is_ahead || row->is_suspect || !is_whole(row))
            continue;
        if (is_suspect)
            previous = row;
        else if (!newest)
            newest = row;
        else if (row->step < newest->step)
            previous = row;
    }
    if (status == 0)
        *ret_resume = reference(previous);
    rows_fini(&rows);
    return status;
}

/* `steps` are those of the newest of `count` whole checkpoints. */
static int resume_missing(const struct phase *phase, const char *from, unsigned count,
                          const char *steps, struct error *err)
{
    unsigned long long workflow = phase->workflow->id;
    bool is_step = from[text_digits_size(from)] == '\0';
    if (count == 0)
        return error_set(err, -ENOENT, "%llu/%s has no whole checkpoint: retry --from start",
                         workflow, phase->name);
    return error_set(err, -ENOENT,
                     "%llu/%s has no whole checkpoint %s%.200s; the others are %s, %sand start",
                     workflow, phase->name, is_step ? "of step " : "", from, steps,
                     count > SEARCH_STEPS_MAX ? "older ones " : "");
}

/* A person may choose any checkpoint, also one that was left behind. */
int resume_find(struct store *store, const struct phase *phase, const char *from,
                json_t **ret_found, struct error *err)
{
    if (text_equal(from, "start")) {
        *ret_found = told_checkpoint_reference("", 0);
        return 0;
    }
    struct rows rows = {0};
    struct text steps = {0}; /* the steps of whole checkpoints */
    unsigned count = 0;
    json_t *found = NULL;
    int status = rows_load(store, phase->id, &rows, err);
    for (size_t i = 0; status == 0 && i < rows.count && !found; i++) {
        const struct row *row = &rows.items[i];
        char step[24];
        if (!row->is_file || !is_whole(row))
            continue;
        (void)snprintf(step, sizeof step, "%" PRId64, row->step);
        if (text_equal(step, from) || text_equal(row->path, from))
            found = reference(row);
        else if (count++ < SEARCH_STEPS_MAX)
            text_addf(&steps, "%s%s%s", steps.size ? ", " : "", step,
                      row->is_suspect ? " (suspect)" : "");
    }
    if (found)
        *ret_found = found;
    else if (status == 0)
        status = resume_missing(phase, from, count, text_string(&steps), err);
    rows_fini(&rows);
    text_fini(&steps);
    return status;
}
