/* Watches a run on one node. */
#include "worker/node/watchdog.h"

#include "lib/checkpoint.h"
#include "lib/clock.h"
#include "lib/memory.h"
#include "lib/protocol/told_evidence.h"
#include "lib/protocol/words.h"
#include "lib/text.h"
#include "worker/health/evidence.h"
#include "worker/health/hang.h"
#include "worker/health/outlier.h"
#include "worker/health/pace.h"
#include "worker/health/ras.h"
#include "worker/health/ras_status.h"
#include "worker/node/crew.h"
#include "worker/node/observer.h"
#include "worker/process/child.h"
#include "worker/protocol/journal.h"
#include "worker/telemetry/second.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    WATCHDOG_EXAMINE_MS = 1000,   /* between two looks at the processes */
    WATCHDOG_AGAIN_MIN_MS = 1000, /* between two reports of a silence */
    WATCHDOG_RANKS_MAX = 1024,
    WATCHDOG_RECORD_MS = 60000, /* between two entries of the pace; the first comes at once */
    WATCHDOG_TOOLS_MS = 8000,   /* for `phase-worker inspect`, which waits half as long for tools */
    WATCHDOG_TOOLS_SIZE = 128 * 1024,
    WATCHDOG_PIDS_MAX = 512, /* processes that it inspects */
    WATCHDOG_PID_SIZE = 16,
};

/* One of several groups, which are independent programs. */
struct watchdog_group {
    struct hang hang;
    uint64_t printed;
    bool was_told;
};

struct watchdog {
    struct watchdog_options options;
    struct hang hang;
    struct pace pace;     /* for comparing nodes */
    struct pace recorded; /* for the journal */
    bool has_recorded;
    struct watchdog_group *groups;
    unsigned group_count;   /* 0: the crew is one program */
    uint64_t printed, rows; /* at the last look */
    int64_t step;
    struct checkpoint_extent growth; /* of the folder, when half of the limit was over */
    bool has_growth;
    bool has_warned; /* of stopped processes */
    int64_t told_ms; /* when the silence was last reported; 0: it is within the limit */
    uv_timer_t examiner;
    struct evidence *evidence; /* the first look, until the second look */
    struct ras *ras;           /* a running query */
    struct child *inspector;   /* a running `phase-worker inspect` */
    json_t *found;             /* the newest evidence */
    json_t *tools;             /* what the inspector has printed, or NULL */
    char *summary, *nccl;
};

struct watchdog *watchdog_new(const struct watchdog_options *options)
{
    struct watchdog *watchdog = xcalloc(1, sizeof *watchdog);
    watchdog->options = *options;
    watchdog->step = -1;
    hang_init(&watchdog->hang, options->hang_s, clock_steady_ms());
    watchdog->group_count = options->has_groups ? crew_count(options->crew) : 0;
    watchdog->groups = xcalloc(watchdog->group_count, sizeof *watchdog->groups);
    for (unsigned i = 0; i < watchdog->group_count; i++)
        hang_init(&watchdog->groups[i].hang, options->hang_s, clock_steady_ms());
    uv_timer_init(options->loop, &watchdog->examiner);
    watchdog->examiner.data = watchdog;
    return watchdog;
}

/* --- Silence ---------------------------------------------------------------------------------- */

static enum hang_sign watchdog_sign(struct watchdog *watchdog)
{
    uint64_t printed = crew_printed(watchdog->options.crew);
    uint64_t rows = observer_signs(watchdog->options.observer);
    int64_t step = watchdog->step;
    (void)observer_newest_step(watchdog->options.observer, &step); /* -1: there is no step yet */
    enum hang_sign sign = step != watchdog->step                                   ? HANG_STEP
                          : printed != watchdog->printed || rows != watchdog->rows ? HANG_LIFE
                                                                                   : HANG_NOTHING;
    watchdog->printed = printed;
    watchdog->rows = rows;
    watchdog->step = step;
    return sign;
}

/* Whether files were written since half of the limit was over. */
static bool watchdog_has_grown(struct watchdog *watchdog)
{
    struct checkpoint_extent growth = {0};
    if (!watchdog->options.folder)
        return false;
    /* Programs may keep logs deeper in their folder that grow even while the programs hang. */
    checkpoint_measure_near(watchdog->options.folder, &growth);
    bool has_grown = watchdog->has_growth && !checkpoint_extent_equal(&growth, &watchdog->growth);
    watchdog->has_growth = true;
    watchdog->growth = growth;
    return has_grown;
}

static bool watchdog_is_stopped(struct watchdog *watchdog)
{
    struct evidence *evidence = evidence_begin(crew_began(watchdog->options.crew));
    bool is_stopped = evidence_is_stopped(evidence);
    evidence_free(evidence);
    if (is_stopped && !watchdog->has_warned) {
        watchdog->has_warned = true;
        journal_warn(watchdog->options.journal,
                     "processes are stopped by a signal or a debugger: this is not taken for a "
                     "hang");
    }
    return is_stopped;
}

static void watchdog_tell_silence(struct watchdog *watchdog, int64_t now_ms)
{
    int64_t limit_ms = hang_limit_ms(&watchdog->hang), again_ms = limit_ms / 4;
    if (again_ms < WATCHDOG_AGAIN_MIN_MS)
        again_ms = WATCHDOG_AGAIN_MIN_MS;
    if (watchdog->told_ms && now_ms - watchdog->told_ms < again_ms)
        return;
    if (watchdog_has_grown(watchdog) || watchdog_is_stopped(watchdog)) {
        hang_look(&watchdog->hang, HANG_EXCUSED, now_ms);
        watchdog->told_ms = 0;
        return;
    }
    watchdog->told_ms = now_ms;
    watchdog->options.report(watchdog->options.context,
                             &(struct report){.kind = REPORT_SILENT,
                                              .seconds = (double)watchdog->hang.silence_ms / 1000,
                                              .limit = (double)limit_ms / 1000,
                                              .has_steps = watchdog->hang.has_step});
}

static void watchdog_record_pace(struct watchdog *watchdog, int64_t now_ms)
{
    struct pace_span span;
    pace_step(&watchdog->recorded, watchdog->step, now_ms);
    if (!pace_take(&watchdog->recorded,
                   watchdog->has_recorded ? WATCHDOG_RECORD_MS : PACE_WINDOW_MS, &span))
        return;
    watchdog->has_recorded = true;
    journal_add(watchdog->options.journal, &(struct entry){.type = ENTRY_PACE,
                                                           .step = watchdog->step,
                                                           .steps = (int64_t)span.steps,
                                                           .seconds = span.seconds});
}

static void watchdog_pace(struct watchdog *watchdog, int64_t now_ms)
{
    struct pace_span span;
    watchdog_record_pace(watchdog, now_ms);
    pace_step(&watchdog->pace, watchdog->step, now_ms);
    if (pace_take(&watchdog->pace, PACE_WINDOW_MS, &span))
        watchdog->options.report(
            watchdog->options.context,
            &(struct report){.kind = REPORT_PACE,
                             .steps_per_s = (double)span.steps / span.seconds});
}

/* Warns once of a group that is silent while others print. Uses the rule of hang.h, with the output
 * of each group. When the other groups have ended, the silence of this group is the silence of the
 * run. */
static void watchdog_look_at_groups(struct watchdog *watchdog, int64_t now_ms)
{
    struct watchdog_group *silent = NULL;
    unsigned rank = 0;
    bool goes_on = false; /* another group */
    for (unsigned i = 0; i < watchdog->group_count; i++) {
        struct watchdog_group *group = &watchdog->groups[i];
        const struct crew_rank *of = crew_rank(watchdog->options.crew, i);
        bool has_printed = of->printed != group->printed;
        group->printed = of->printed;
        hang_look(&group->hang, has_printed ? HANG_LIFE : HANG_NOTHING, now_ms);
        bool is_over = !of->has_ended && hang_is_over(&group->hang);
        goes_on |= !of->has_ended && !is_over;
        if (is_over && !group->was_told && !silent) {
            silent = group;
            rank = of->rank;
        }
    }
    if (!silent || !goes_on)
        return;
    silent->was_told = true;
    char *silence = text_time((double)silent->hang.silence_ms / 1000);
    journal_warn(watchdog->options.journal,
                 "group %u has printed nothing for %s, while others go on", rank, silence);
    free(silence);
}

void watchdog_look(struct watchdog *watchdog)
{
    int64_t now_ms = clock_steady_ms();
    enum hang_sign sign = watchdog_sign(watchdog);
    hang_look(&watchdog->hang, sign, now_ms);
    watchdog_look_at_groups(watchdog, now_ms);
    if (sign == HANG_STEP)
        watchdog_pace(watchdog, now_ms);
    if (sign != HANG_NOTHING) {
        watchdog->told_ms = 0;
        watchdog->has_growth = false;
    }
    if (watchdog->hang.silence_ms >= hang_limit_ms(&watchdog->hang) / 2 && !watchdog->has_growth)
        (void)watchdog_has_grown(watchdog); /* this is the size to compare with later */
    if (hang_is_over(&watchdog->hang) && !crew_is_stopping(watchdog->options.crew))
        watchdog_tell_silence(watchdog, now_ms);
}

/* --- Evidence --------------------------------------------------------------------------------- */

/* Reports when all answers have come. */
static void watchdog_answer(struct watchdog *watchdog)
{
    if (watchdog->evidence || watchdog->ras || watchdog->inspector)
        return;
    const struct told_inspection tools = told_inspection_read(watchdog->tools);
    struct told_evidence told = told_evidence_read(watchdog->found);
    told.nccl = watchdog->nccl;
    told.python = tools.python;
    told.nvidia_smi = tools.nvidia_smi;
    /* A GPU that is busy and draws little power waits for another GPU in a collective. */
    const struct gpu_second *second = observer_gpus(watchdog->options.observer);
    told.gpus = second ? second_to_json(second, SECOND_SHORT) : NULL;
    json_t *found = told_evidence_to_json(&told);
    json_decref(told.gpus);
    json_decref(watchdog->found);
    watchdog->found = found;
    struct report report = {.kind = REPORT_EXAMINED,
                            .seconds = (double)watchdog->hang.silence_ms / 1000,
                            .summary = watchdog->summary,
                            .counts = outlier_count(watchdog->found),
                            .ras = ras_status_read(watchdog->nccl)};
    watchdog->options.report(watchdog->options.context, &report);
    json_decref(report.counts);
    json_decref(report.ras);
}

static void watchdog_nccl_answered(void *context, const char *text)
{
    struct watchdog *watchdog = context;
    watchdog->ras = NULL;
    free(watchdog->nccl);
    watchdog->nccl = xstrdup_or_null(text);
    if (watchdog->nccl)
        text_make_utf8(watchdog->nccl);
    watchdog_answer(watchdog);
}

static void watchdog_inspected(void *context, const struct child_end *end)
{
    struct watchdog *watchdog = context;
    const struct text *text = child_text(watchdog->inspector);
    (void)end; /* the output of a late program is not whole, so it is not JSON */
    json_decref(watchdog->tools);
    watchdog->tools = json_loadb(text_string(text), text->size, 0, NULL);
    child_close(watchdog->inspector);
    watchdog->inspector = NULL;
    watchdog_answer(watchdog);
}

/* Asks the installed tools (worker/health/inspect.h). Their processes must not count as processes
 * of the run, and a tool may hang in the kernel forever, so the program is nobody's child. It
 * gets no output of the agent, because srun waits for all holders of its pipes. */
static void watchdog_inspect(struct watchdog *watchdog)
{
    pid_t pids[WATCHDOG_PIDS_MAX];
    char numbers[WATCHDOG_PIDS_MAX][WATCHDOG_PID_SIZE];
    char *arguments[WATCHDOG_PIDS_MAX + 3] = {"phase-worker", "inspect"};
    size_t count = evidence_pids(watchdog->evidence, pids, WATCHDOG_PIDS_MAX);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(numbers[i], sizeof numbers[i], "%d", (int)pids[i]); /* fits */
        arguments[2 + i] = numbers[i];
    }
    const struct child_options options = {
        .loop = watchdog->options.loop,
        .kind = CHILD_OF_NOBODY,
        .program = watchdog->options.program,
        .arguments = arguments,
        .environment = watchdog->options.environment,
        .out = {.output = CHILD_TEXT, .size_max = WATCHDOG_TOOLS_SIZE},
        .deadline_ms = WATCHDOG_TOOLS_MS,
        .ended = watchdog_inspected,
        .context = watchdog,
    };
    watchdog->inspector = child_try(&options);
}

static void watchdog_examine_done(uv_timer_t *timer)
{
    struct watchdog *watchdog = timer->data;
    struct evidence_rank ranks[WATCHDOG_RANKS_MAX];
    unsigned count = crew_count(watchdog->options.crew);
    count = count < WATCHDOG_RANKS_MAX ? count : WATCHDOG_RANKS_MAX;
    for (unsigned i = 0; i < count; i++) {
        const struct crew_rank *rank = crew_rank(watchdog->options.crew, i);
        ranks[i] = (struct evidence_rank){
            .pid = rank->pid,
            .rank = watchdog->options.has_ranks ? (int)rank->rank : -1,
            .group = watchdog->options.has_groups ? (int)rank->rank : -1,
        };
    }
    free(watchdog->summary);
    json_decref(watchdog->found);
    watchdog->found = evidence_finish(watchdog->evidence, ranks, count, watchdog->options.secrets,
                                      &watchdog->summary);
    evidence_free(watchdog->evidence);
    watchdog->evidence = NULL;
    watchdog_answer(watchdog);
}

void watchdog_examine(struct watchdog *watchdog)
{
    if (watchdog->evidence || watchdog->ras || watchdog->inspector)
        return; /* the running look answers this question, too */
    watchdog->evidence = evidence_begin(crew_began(watchdog->options.crew));
    if (evidence_is_stopped(watchdog->evidence))
        hang_look(&watchdog->hang, HANG_EXCUSED, clock_steady_ms());
    uv_timer_start(&watchdog->examiner, watchdog_examine_done, WATCHDOG_EXAMINE_MS, 0);
    watchdog_inspect(watchdog);
    watchdog->ras = ras_ask(watchdog->options.loop, watchdog->options.ras_address,
                            watchdog_nccl_answered, watchdog);
}

void watchdog_save_evidence(struct watchdog *watchdog)
{
    if (!watchdog->found)
        return;
    struct told_evidence told = told_evidence_read(watchdog->found);
    told.silent = (double)watchdog->hang.silence_ms / 1000;
    told.summary = watchdog->summary;
    journal_add(watchdog->options.journal,
                &(struct entry){.type = ENTRY_EVIDENCE, .json = told_evidence_to_json(&told)});
    journal_flush(watchdog->options.journal);
    json_decref(watchdog->found);
    watchdog->found = NULL;
}

/* --- The end ---------------------------------------------------------------------------------- */

static void watchdog_closed(uv_handle_t *handle)
{
    struct watchdog *watchdog = handle->data;
    evidence_free(watchdog->evidence);
    json_decref(watchdog->found);
    json_decref(watchdog->tools);
    free(watchdog->groups);
    free(watchdog->summary);
    free(watchdog->nccl);
    free(watchdog);
}

void watchdog_close(struct watchdog *watchdog)
{
    if (!watchdog)
        return;
    ras_cancel(watchdog->ras);
    child_close(watchdog->inspector);
    watchdog->ras = NULL;
    watchdog->inspector = NULL;
    uv_close((uv_handle_t *)&watchdog->examiner, watchdog_closed);
}
