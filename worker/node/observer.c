/* Observes a run on one node. */
#include "worker/node/observer.h"

#include "lib/checkpoint.h"
#include "lib/clock.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/metrics/extract.h"
#include "lib/metrics/guards.h"
#include "lib/metrics/speed.h"
#include "lib/protocol/told_checkpoint.h"
#include "lib/text.h"
#include "worker/lines.h"
#include "worker/metrics/proof.h"
#include "worker/metrics/rows.h"
#include "worker/node/channel.h"
#include "worker/node/space.h"
#include "worker/node/tail.h"
#include "worker/node/told.h"
#include "worker/process/environment.h"
#include "worker/protocol/assignment.h"
#include "worker/protocol/journal.h"
#include "worker/protocol/lineage.h"
#include "worker/telemetry/gpu_metrics.h"
#include "worker/telemetry/idle.h"
#include "worker/telemetry/watch.h"

#include <errno.h>
#include <stdlib.h>

enum {
    OBSERVER_LOOK_PART = 10,       /* a pause is so many times as long as the look before it */
    OBSERVER_PAUSE_MAX_MS = 60000, /* the longest pause */
    OBSERVER_LINE_MAX = 65536,
    OBSERVER_MISSING_MS = 180000, /* by then, rows of all required metrics should have come */
};

#define OBSERVER_MISSING_WHEN "in the first 3 minutes"

struct observer {
    struct observer_options options;
    struct rows rows;
    struct speed speed;
    struct gpu_metrics gpus;
    struct idle idle;
    struct watch *watch; /* NULL, for example without GPUs */
    struct guards *guards;
    struct proof *proof;     /* NULL: there is nothing to compare, or it was compared */
    struct extract *extract; /* NULL: this node does not read metrics */
    bool extracts_file;      /* from the file `metrics.path` instead of the output */
    struct tail file, channel;
    struct lines channel_lines;
    struct checkpoints *checkpoints; /* or NULL */
    int64_t checkpoints_ms;          /* when they were last looked at */
    int64_t pause_ms;                /* from then to the next look */
    char *checkpoints_folder;        /* NULL: the phase has no checkpoints */
    struct space space;
    struct told told;
    bool has_saved;
    int64_t saved_step; /* of the newest reported checkpoint */
    uint64_t signs;     /* counts rows and checkpoints */
    bool has_other_step;
    int64_t other_step; /* the newest step, if this is not the first node */
    bool is_stopped;    /* the agent was told to stop the run */
    bool is_suspect;    /* checkpoints that are announced from now on */
    bool has_looked_for_missing;
    bool awaits_others;
    bool has_told_of_speed; /* the reason for a missing MFU */
    bool has_told_of_names;
};

static void observer_row(void *context, const struct extract_row *row)
{
    struct observer *observer = context;
    observer->signs++;
    proof_add(observer->proof, row);
    rows_add(&observer->rows, speed_read(&observer->speed, row, clock_steady_ms()));
}

/* Takes a row of a node that is not the first. Only its step counts, for the pace. */
static void observer_step(void *context, const struct extract_row *row)
{
    struct observer *observer = context;
    observer->signs++;
    observer->has_other_step |= row->has_step;
    if (row->has_step)
        observer->other_step = row->step;
}

static void observer_checkpoint(void *context, const struct saved *checkpoint, bool is_suspect,
                                bool is_unseen)
{
    struct observer *observer = context;
    if (!is_unseen && told_again(&observer->told, checkpoint, is_suspect))
        return;
    observer->signs++;
    json_t *paths = saved_paths(checkpoint);
    const struct told_checkpoint told = {.path = checkpoint->paths[0],
                                         .step = checkpoint->step,
                                         .bytes = (int64_t)checkpoint->extent.bytes,
                                         .paths = paths,
                                         .is_suspect = is_suspect,
                                         .is_unseen = is_unseen};
    json_t *members = told_checkpoint_to_json(&told);
    json_decref(paths);
    if (members && !is_suspect && !is_unseen &&
        (!observer->has_saved || checkpoint->step > observer->saved_step)) {
        observer->has_saved = true;
        observer->saved_step = checkpoint->step;
    }
    if (members)
        journal_add(observer->options.journal,
                    &(struct entry){.type = ENTRY_CHECKPOINT, .json = members});
    else
        journal_warn(observer->options.journal, "the path of a checkpoint is not UTF-8");
    observer->options.urgent(observer->options.context);
}

/* A script says that a checkpoint is whole. The checkpoint must exist, and is measured. */
static void observer_announced(void *context, const char *path, int64_t step)
{
    struct observer *observer = context;
    char *paths[] = {(char *)path};
    struct saved checkpoint = {.step = step, .paths = paths, .path_count = 1};
    if (checkpoint_measure(path, &checkpoint.extent) == 0)
        observer_checkpoint(context, &checkpoint, observer->is_suspect, false);
}

static void observer_channel_line(void *context, const char *line, size_t size)
{
    const struct channel_listener listener = {observer_row, observer_announced, context};
    channel_read(&listener, line, size);
}

static void observer_channel_data(void *context, const char *data, size_t size)
{
    struct observer *observer = context;
    lines_feed(&observer->channel_lines, data, size, observer_channel_line, observer);
}

static void observer_file_data(void *context, const char *data, size_t size)
{
    struct observer *observer = context;
    extract_feed(observer->extract, data, size);
}

static void observer_verdict(void *context, json_t *verdict)
{
    struct observer *observer = context;
    journal_add(observer->options.journal,
                &(struct entry){.type = ENTRY_GUARD, .verdict = verdict});
    observer->options.urgent(observer->options.context);
}

/* Reports suspect checkpoints before the stop. So no later run resumes from them, whatever happens
 * to this run. */
static void observer_tell_suspect(struct observer *observer, const struct guards_reason *reason)
{
    observer_suspect(observer, reason->since);
    journal_add(
        observer->options.journal,
        &(struct entry){.type = ENTRY_SUSPECT, .step = reason->since, .message = reason->message});
    observer->options.urgent(observer->options.context);
}

static void observer_judge(struct observer *observer)
{
    static const enum stop_reason causes[] = {
        [GUARDS_FAILED] = STOP_GUARD,
        [GUARDS_NAN] = STOP_NAN,
        [GUARDS_REACHED] = STOP_UNTIL,
    };
    struct guards_reason reason = {0};
    double elapsed_s = (double)(clock_steady_ms() - observer->rows.began_ms) / 1000;
    if (observer->is_stopped)
        return;
    enum guards_judgement judgement =
        guards_judge(observer->guards, elapsed_s, observer_verdict, observer, &reason);
    if (judgement == GUARDS_FAILED || judgement == GUARDS_NAN)
        observer_tell_suspect(observer, &reason);
    else if (observer->checkpoints)
        checkpoints_vouch(observer->checkpoints, guards_vouched(observer->guards));
    if (judgement != GUARDS_FINE) {
        observer->is_stopped = true;
        observer->options.stop(observer->options.context, causes[judgement], reason.message,
                               reason.verdict);
    }
    json_decref(reason.verdict);
    free(reason.message);
}

static int observer_open_extract(struct observer *observer, struct error *err)
{
    const json_t *spec = observer->options.assignment->spec;
    const json_t *metrics = json_object_get(spec, "metrics");
    struct extract_options options = {.kind = EXTRACT_AUTO};
    int status = metrics ? extract_options_from_json(metrics, &options, err) : 0;
    if (status < 0)
        return status;
    options.step_name =
        json_string_value(json_object_get(json_object_get(spec, "progress"), "step"));
    bool is_first = observer->options.is_first_node;
    if (!is_first && options.kind == EXTRACT_FILE)
        return 0; /* otherwise all nodes would read the same file */
    status = extract_new(&options, is_first ? observer_row : observer_step, observer,
                         &observer->extract, err);
    if (status == 0) {
        guards_want_of(observer->guards, observer->extract);
        speed_want_of(observer->extract);
    }
    if (status < 0 || options.kind != EXTRACT_FILE)
        return status;
    const char *pattern = json_string_value(json_object_get(metrics, "path"));
    if (!pattern)
        return error_set(err, -EINVAL, "metrics.path is missing");
    char *path = environment_path(observer->options.environment, pattern,
                                  observer->options.assignment->workdir);
    tail_init(&observer->file, path);
    observer->extracts_file = true;
    if (observer->options.assignment->nodes > 1)
        observer->awaits_others = true;
    free(path);
    return 0;
}

/* The checkpoints of earlier runs count in `keep`. They do not count if this run begins anew
 * without a request for it, because then they may only have been unreadable. */
static void observer_inherit(struct observer *observer)
{
    const struct assignment *assignment = observer->options.assignment;
    const json_t *resume = assignment->file.resume;
    if (assignment->file.attempt < 2 || (!resume && !assignment->file.is_anew))
        return;
    char *phase_dir = file_parent(assignment->file.run_dir);
    json_t *saved = lineage_saved(phase_dir, assignment->file.attempt - 1, resume);
    checkpoints_inherit(observer->checkpoints, saved);
    json_decref(saved);
    free(phase_dir);
}

/* Whether the newest checkpoint is of the last step that the spec names. It is the last one then.
 */
static bool observer_has_saved_all(const struct observer *observer)
{
    const json_t *progress = json_object_get(observer->options.assignment->spec, "progress");
    const json_t *total = json_object_get(progress, "total");
    return observer->has_saved && json_is_number(total) &&
           (double)observer->saved_step >= json_number_value(total);
}

/* Warns if few more checkpoints fit. If the next one does not fit, the run is stopped, and the
 * phase is held: nothing is lost, because a checkpoint was saved just now. */
static void observer_look_at_space(struct observer *observer)
{
    const char *folder = observer->checkpoints_folder;
    struct space_look look;
    struct space_facts facts;
    uint64_t free_bytes;
    checkpoints_space(observer->checkpoints, &look);
    if (!space_look(&observer->space, &look, clock_steady_ms(), &facts) || observer->is_stopped ||
        observer_has_saved_all(observer) || !space_left(folder, &free_bytes))
        return;
    enum space_verdict verdict = space_judge(&facts, free_bytes);
    bool is_known = verdict == SPACE_FINE || (verdict == SPACE_FEW && observer->space.is_few);
    observer->space.is_few = verdict != SPACE_FINE;
    if (is_known)
        return;
    size_t count;
    const struct saved **spare = checkpoints_spare(observer->checkpoints, &count);
    char *warning = space_warning(&facts, free_bytes, folder, spare, count);
    journal_warn(observer->options.journal, "%s", warning);
    free(warning);
    if (verdict == SPACE_FULL) {
        char *reason = space_reason(&facts, free_bytes, spare, count);
        observer->is_stopped = true;
        observer->options.stop(observer->options.context, STOP_HELD, reason, NULL);
        free(reason);
    }
    free(spare);
    observer->options.urgent(observer->options.context);
}

static int observer_open_checkpoints(struct observer *observer, struct error *err)
{
    const struct assignment *assignment = observer->options.assignment;
    if (!assignment->checkpoint_path)
        return 0;
    char *pattern = environment_pattern(observer->options.environment, assignment->checkpoint_path,
                                        assignment->workdir);
    int status = checkpoints_new(pattern, assignment->file.out_dir, assignment->keep,
                                 observer_checkpoint, observer, &observer->checkpoints, err);
    observer->checkpoints_folder = space_folder(pattern);
    free(pattern);
    if (status < 0)
        return status;
    struct error problem;
    if (checkpoints_note(observer->checkpoints, assignment->file.run_dir, &problem) < 0)
        journal_warn(observer->options.journal, "%s",
                     problem.message); /* reported checkpoints are found all the same */
    if (assignment->resume)
        checkpoints_resume(observer->checkpoints, assignment->resume);
    observer_inherit(observer);
    observer_look_at_space(observer);
    return 0;
}

static void observer_second(void *context, const struct gpu_second *second)
{
    struct observer *observer = context;
    char *message = idle_add(&observer->idle, second);
    gpu_metrics_add(&observer->gpus, second);
    if (message)
        journal_warn(observer->options.journal, "%s", message);
    free(message);
}

static void observer_model(void *context, const char *model)
{
    struct observer *observer = context;
    speed_model(&observer->speed, model);
}

static void observer_fault(void *context, const char *line)
{
    struct observer *observer = context;
    observer->options.fault(observer->options.context, line);
}

/* A run without samples of the GPUs is still a good run. */
static void observer_open_watch(struct observer *observer)
{
    struct error err;
    const struct watch_options options = {
        .loop = observer->options.loop,
        .journal = observer->options.journal,
        .second = observer_second,
        .model = observer_model,
        .fault = observer_fault,
        .context = observer,
        .program = observer->options.program,
        .environment = observer->options.environment->entries,
    };
    if (observer->options.assignment->gpus == 0 ||
        watch_open(&options, &observer->watch, &err) == 0)
        return;
    journal_warn(observer->options.journal, "GPUs are not sampled: %s", err.message);
}

static void observer_end_watch(struct observer *observer, enum observer_fate fate)
{
    watch_tell_rest(observer->watch);
    if (fate == OBSERVER_ENDED_BADLY || observer->is_stopped)
        watch_tell_last_minute(observer->watch);
    watch_close(observer->watch);
    observer->watch = NULL;
}

int observer_new(const struct observer_options *options, struct observer **ret_observer,
                 struct error *err)
{
    struct observer *observer = xcalloc(1, sizeof *observer);
    observer->options = *options;
    observer->awaits_others = options->assignment->join != NULL;
    observer->file.fd = observer->channel.fd = -1;
    observer->channel_lines.size_max = OBSERVER_LINE_MAX;
    const struct assignment *assignment = options->assignment;
    int status = guards_new(assignment->spec, assignment->resume_step, &observer->guards, err);
    if (status == 0)
        status = observer_open_extract(observer, err);
    if (status == 0 && options->is_first_node)
        status = observer_open_checkpoints(observer, err);
    if (status < 0) {
        observer_free(observer);
        return status;
    }
    tail_init(&observer->channel, options->channel);
    observer->rows.journal = options->journal;
    observer->rows.guards = observer->guards;
    observer->rows.begin_step = assignment->resume_step;
    observer->rows.began_ms = observer->checkpoints_ms = clock_steady_ms();
    observer->pause_ms = CHECKPOINTS_PAUSE_MS;
    speed_init(&observer->speed, assignment->spec, assignment->nodes * assignment->gpus);
    observer->gpus = (struct gpu_metrics){
        .rows = &observer->rows,
        .is_told = options->is_first_node,
    };
    idle_init(&observer->idle, (unsigned)assignment->idle_s);
    if (options->is_first_node)
        observer->proof =
            proof_new(assignment->file.changed, json_object_get(assignment->spec, "params"));
    observer_open_watch(observer);
    *ret_observer = observer;
    return 0;
}

void observer_free(struct observer *observer)
{
    if (!observer)
        return;
    watch_close(observer->watch);
    rows_fini(&observer->rows);
    speed_fini(&observer->speed);
    guards_free(observer->guards);
    proof_free(observer->proof);
    extract_free(observer->extract);
    tail_fini(&observer->file);
    tail_fini(&observer->channel);
    lines_fini(&observer->channel_lines);
    checkpoints_free(observer->checkpoints);
    free(observer->checkpoints_folder);
    told_fini(&observer->told);
    free(observer);
}

void observer_feed(struct observer *observer, const char *data, size_t size)
{
    proof_feed(observer->proof, data, size);
    if (observer->extract && !observer->extracts_file)
        extract_feed(observer->extract, data, size);
}

const struct gpu_second *observer_gpus(const struct observer *observer)
{
    return watch_latest(observer->watch);
}

static void observer_look_at_files(struct observer *observer)
{
    if (observer->extracts_file)
        tail_look(&observer->file, observer_file_data, observer);
    tail_look(&observer->channel, observer_channel_data, observer);
}

/* Warns of a misspelt metric after minutes, because the gate judges much later, and a guard on such
 * a metric never judges. `when` says how long was waited. */
static void observer_look_for_missing(struct observer *observer, const char *when)
{
    bool is_read = observer->extract && observer->options.is_first_node;
    if (observer->has_looked_for_missing)
        return;
    observer->has_looked_for_missing = true;
    char *missing = is_read ? guards_missing(observer->guards) : NULL;
    if (missing && *missing) {
        char *seen = guards_seen(observer->guards);
        const char *unread = extract_unread(observer->extract);
        struct text message = {0};
        text_addf(&message, "%s the program printed no value of: %s; %s%s", when, missing,
                  *seen ? "it printed values of: " : "no metric at all was recognised", seen);
        if (*unread)
            text_addf(&message, " in lines such as '%s'; " EXTRACT_ADVICE, unread);
        journal_warn(observer->options.journal, "%s", text_string(&message));
        text_fini(&message);
        free(seen);
    }
    free(missing);
}

/* Compares once, then ends the comparison. */
static void observer_look_for_proof(struct observer *observer)
{
    char *doubts = proof_doubts(observer->proof);
    if (doubts)
        journal_warn(observer->options.journal, "%s", doubts);
    free(doubts);
    proof_free(observer->proof);
    observer->proof = NULL;
}

/* Warns if a program prints metrics but its MFU is unknown. */
static void observer_look_for_speed(struct observer *observer)
{
    bool is_due = observer->options.is_first_node && observer->rows.has_row;
    if (!is_due || observer->has_told_of_speed)
        return;
    char *message = speed_trouble(&observer->speed);
    if (message) {
        observer->has_told_of_speed = true;
        journal_warn(observer->options.journal, "%s", message);
    }
    free(message);
}

/* Warns if there were too many names of metrics. */
static void observer_look_for_names(struct observer *observer)
{
    if (!observer->extract || !observer->options.is_first_node || observer->has_told_of_names)
        return;
    char *message = extract_left_out(observer->extract);
    observer->has_told_of_names = message != NULL;
    if (message)
        journal_warn(observer->options.journal, "%s", message);
    free(message);
}

void observer_look(struct observer *observer)
{
    int64_t now_ms = clock_steady_ms();
    observer_look_at_files(observer);
    if (observer->extract)
        extract_flush(observer->extract, now_ms);
    rows_flush(&observer->rows);
    observer_judge(observer);
    observer_look_for_names(observer);
    if (now_ms - observer->rows.began_ms >= OBSERVER_MISSING_MS) {
        if (!observer->options.assignment->join)
            observer_look_for_missing(observer, OBSERVER_MISSING_WHEN);
        observer_look_for_proof(observer);
        observer_look_for_speed(observer);
    }
    if (observer->checkpoints && now_ms - observer->checkpoints_ms >= observer->pause_ms) {
        int64_t begun_ms = clock_steady_ms();
        checkpoints_look(observer->checkpoints, begun_ms);
        observer_look_at_space(observer);
        observer->checkpoints_ms = clock_steady_ms();
        /* A look at thousands of files on a slow file system takes seconds, and the agent does
         * nothing else meanwhile. */
        int64_t pause_ms = OBSERVER_LOOK_PART * (observer->checkpoints_ms - begun_ms);
        observer->pause_ms = pause_ms < CHECKPOINTS_PAUSE_MS    ? CHECKPOINTS_PAUSE_MS
                             : pause_ms > OBSERVER_PAUSE_MAX_MS ? OBSERVER_PAUSE_MAX_MS
                                                                : pause_ms;
    }
}

void observer_look_last(struct observer *observer, enum observer_fate fate)
{
    observer_look_at_files(observer);
    lines_end(&observer->channel_lines, observer_channel_line, observer);
    if (observer->extract && !(observer->extracts_file && observer->awaits_others))
        extract_end(observer->extract);
    observer_end_watch(observer, fate);
    observer_look_for_speed(observer);
    observer_look_for_names(observer);
    if (fate == OBSERVER_ENDED_WELL && !observer->awaits_others) { /* else a failure matters more */
        observer_look_for_missing(observer, "from its start to its end");
        observer_look_for_proof(observer);
    }
    rows_flush(&observer->rows);
    observer_judge(observer);
}

void observer_suspect(struct observer *observer, int64_t since)
{
    observer->is_suspect = true;
    if (observer->checkpoints)
        checkpoints_suspect(observer->checkpoints, since, clock_steady_ms());
}

bool observer_is_suspect(const struct observer *observer)
{
    return observer->is_suspect;
}

void observer_all_ended(struct observer *observer)
{
    observer->awaits_others = false;
    tail_refresh(&observer->file);
}

void observer_end(struct observer *observer, enum checkpoints_end end)
{
    struct error err;
    if (!observer->checkpoints)
        return;
    checkpoints_look_last(observer->checkpoints, end, clock_steady_ms());
    const char *run_dir = observer->options.assignment->file.run_dir;
    if (checkpoints_note_left_out(observer->checkpoints, run_dir, &err) < 0)
        journal_warn(observer->options.journal, "%s",
                     err.message); /* later readers then recognise torn checkpoints by size */
}

uint64_t observer_signs(const struct observer *observer)
{
    const struct checkpoints *checkpoints = observer->checkpoints;
    return observer->signs + (checkpoints ? checkpoints_changes(checkpoints) : 0);
}

bool observer_last_step(const struct observer *observer, int64_t *ret_step)
{
    if (observer->rows.has_step)
        *ret_step = observer->rows.highest_step;
    return observer->rows.has_step;
}

bool observer_newest_step(const struct observer *observer, int64_t *ret_step)
{
    bool has_step = observer->rows.has_step || observer->has_other_step;
    if (has_step)
        *ret_step = observer->has_other_step ? observer->other_step : observer->rows.last_step;
    return has_step;
}

bool observer_saved_step(const struct observer *observer, int64_t *ret_step)
{
    if (observer->has_saved)
        *ret_step = observer->saved_step;
    return observer->has_saved;
}
