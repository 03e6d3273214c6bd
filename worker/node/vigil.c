/* Watching for a hang. */
#include "worker/node/vigil.h"

#include "lib/checkpoint.h"
#include "lib/memory.h"
#include "worker/clock.h"
#include "worker/node/crew.h"
#include "worker/health/evidence.h"
#include "worker/health/hang.h"
#include "worker/protocol/journal.h"
#include "worker/node/observer.h"
#include "worker/health/odd.h"
#include "worker/health/pace.h"
#include "worker/node/quiet.h"
#include "worker/health/ras.h"
#include "worker/telemetry/second.h"
#include "worker/health/testimony.h"

#include <stdlib.h>

enum {
    VIGIL_EXAMINE_MS = 1000,   /* between two looks at the processes */
    VIGIL_AGAIN_MIN_MS = 1000, /* between two reports of a silence, a quarter of the limit else */
    VIGIL_RANKS_MAX = 1024,
    VIGIL_RECORD_MS = 60000, /* between two entries of the pace; the first one comes at once */
};

struct vigil {
    struct vigil_options options;
    struct hang hang;
    struct pace pace;     /* for comparing nodes */
    struct pace recorded; /* for the journal */
    bool has_recorded;
    struct quiet *quiet;    /* of several groups; else NULL */
    uint64_t printed, rows; /* how much of it there was at the look before */
    int64_t step;
    struct checkpoint_extent growth; /* of the folder, when half of the time was over */
    bool has_growth;
    bool has_warned; /* of stopped processes */
    int64_t told_ms; /* when a silence was last told; 0: it is not too long */
    uv_timer_t examiner;
    struct evidence *evidence; /* the first look, while a second one is waited for */
    struct ras *ras;           /* a query under way */
    struct testimony *testimony;
    json_t *found; /* the newest evidence */
    json_t *tools; /* what the testimony said, or NULL */
    char *summary, *nccl;
};

struct vigil *vigil_new(const struct vigil_options *options)
{
    struct vigil *vigil = xcalloc(1, sizeof(*vigil));
    vigil->options = *options;
    vigil->step = -1;
    hang_init(&vigil->hang, options->hang_s, clock_steady_ms());
    if (options->has_groups)
        vigil->quiet = quiet_new(options->crew, options->hang_s, clock_steady_ms());
    uv_timer_init(options->loop, &vigil->examiner);
    vigil->examiner.data = vigil;
    return vigil;
}

/* --- Silence ---------------------------------------------------------------------------------- */

static enum hang_sign vigil_sign(struct vigil *vigil)
{
    uint64_t printed = crew_printed(vigil->options.crew);
    uint64_t rows = observer_signs(vigil->options.observer);
    int64_t step = vigil->step;
    (void)observer_newest_step(vigil->options.observer, &step); /* none yet */
    enum hang_sign sign = step != vigil->step                                ? HANG_STEP
                          : printed != vigil->printed || rows != vigil->rows ? HANG_LIFE
                                                                             : HANG_NOTHING;
    vigil->printed = printed;
    vigil->rows = rows;
    vigil->step = step;
    return sign;
}

/* Whether files were written since half of the time was over. */
static bool vigil_has_grown(struct vigil *vigil)
{
    struct checkpoint_extent growth = {0};
    if (!vigil->options.folder)
        return false;
    /* Programs keep diaries deeper in their folder, which go on while the programs hang. */
    checkpoint_measure_near(vigil->options.folder, &growth);
    bool has_grown = vigil->has_growth && !checkpoint_extent_equal(&growth, &vigil->growth);
    vigil->has_growth = true;
    vigil->growth = growth;
    return has_grown;
}

static bool vigil_is_stopped(struct vigil *vigil)
{
    struct evidence *evidence = evidence_begin();
    bool is_stopped = evidence_is_stopped(evidence);
    evidence_free(evidence);
    if (is_stopped && !vigil->has_warned) {
        vigil->has_warned = true;
        journal_add(vigil->options.journal, JOURNAL_STATE, "warning",
                    json_pack("{s:s}", "message",
                              "processes are stopped by a signal or a debugger: this is not taken "
                              "for a hang"));
    }
    return is_stopped;
}

static void vigil_tell_silence(struct vigil *vigil, int64_t now_ms)
{
    int64_t limit_ms = hang_limit_ms(&vigil->hang), again_ms = limit_ms / 4;
    if (again_ms < VIGIL_AGAIN_MIN_MS)
        again_ms = VIGIL_AGAIN_MIN_MS;
    if (vigil->told_ms && now_ms - vigil->told_ms < again_ms)
        return;
    if (vigil_has_grown(vigil) || vigil_is_stopped(vigil)) {
        hang_look(&vigil->hang, HANG_EXCUSED, now_ms);
        vigil->told_ms = 0;
        return;
    }
    vigil->told_ms = now_ms;
    vigil->options.report(vigil->options.context,
                          json_pack("{s:s, s:f, s:f, s:b}", "report", "silent", "seconds",
                                    (double)vigil->hang.silence_ms / 1000, "limit",
                                    (double)limit_ms / 1000, "steps", vigil->hang.has_step));
}

static void vigil_record_pace(struct vigil *vigil, int64_t now_ms)
{
    struct pace_span span;
    pace_step(&vigil->recorded, vigil->step, now_ms);
    if (!pace_take(&vigil->recorded, vigil->has_recorded ? VIGIL_RECORD_MS : PACE_WINDOW_MS, &span))
        return;
    vigil->has_recorded = true;
    journal_add(vigil->options.journal, JOURNAL_FACT, "pace",
                json_pack("{s:I, s:I, s:f}", "step", (json_int_t)vigil->step, "steps",
                          (json_int_t)span.steps, "seconds", span.seconds));
}

static void vigil_pace(struct vigil *vigil, int64_t now_ms)
{
    struct pace_span span;
    vigil_record_pace(vigil, now_ms);
    pace_step(&vigil->pace, vigil->step, now_ms);
    if (pace_take(&vigil->pace, PACE_WINDOW_MS, &span))
        vigil->options.report(vigil->options.context,
                              json_pack("{s:s, s:f}", "report", "pace", "steps_per_s",
                                        (double)span.steps / span.seconds));
}

static void vigil_look_at_groups(struct vigil *vigil, int64_t now_ms)
{
    char *message = vigil->quiet ? quiet_look(vigil->quiet, now_ms) : NULL;
    if (message)
        journal_add(vigil->options.journal, JOURNAL_STATE, "warning",
                    json_pack("{s:s}", "message", message));
    free(message);
}

void vigil_look(struct vigil *vigil)
{
    int64_t now_ms = clock_steady_ms();
    enum hang_sign sign = vigil_sign(vigil);
    hang_look(&vigil->hang, sign, now_ms);
    vigil_look_at_groups(vigil, now_ms);
    if (sign == HANG_STEP)
        vigil_pace(vigil, now_ms);
    if (sign != HANG_NOTHING) {
        vigil->told_ms = 0;
        vigil->has_growth = false;
    }
    if (vigil->hang.silence_ms >= hang_limit_ms(&vigil->hang) / 2 && !vigil->has_growth)
        (void)vigil_has_grown(vigil); /* what it is compared with later */
    if (hang_is_over(&vigil->hang) && !crew_is_stopping(vigil->options.crew))
        vigil_tell_silence(vigil, now_ms);
}

/* --- Evidence --------------------------------------------------------------------------------- */

/* A GPU that is busy and takes little power waits for another in a collective. */
static void vigil_add_gpus(struct vigil *vigil)
{
    const struct gpu_second *second = observer_gpus(vigil->options.observer);
    if (second)
        json_object_set_new(vigil->found, "gpus", second_to_json(second, SECOND_SHORT));
}

/* When all have answered who were asked. */
static void vigil_answer(struct vigil *vigil)
{
    if (vigil->evidence || vigil->ras || vigil->testimony)
        return;
    if (vigil->nccl)
        json_object_set_new(vigil->found, "nccl", json_string(vigil->nccl));
    if (vigil->tools)
        json_object_update(vigil->found, vigil->tools);
    vigil_add_gpus(vigil);
    vigil->options.report(vigil->options.context,
                          json_pack("{s:s, s:f, s:s, s:o}", "report", "examined", "seconds",
                                    (double)vigil->hang.silence_ms / 1000, "summary",
                                    vigil->summary, "counts", odd_count(vigil->found)));
}

static void vigil_nccl_answered(void *context, const char *text)
{
    struct vigil *vigil = context;
    vigil->ras = NULL;
    free(vigil->nccl);
    vigil->nccl = xstrdup_or_null(text);
    vigil_answer(vigil);
}

static void vigil_testified(void *context, json_t *report)
{
    struct vigil *vigil = context;
    vigil->testimony = NULL;
    json_decref(vigil->tools);
    vigil->tools = report;
    vigil_answer(vigil);
}

static void vigil_ask(struct vigil *vigil)
{
    const struct testimony_options options = {
        .loop = vigil->options.loop,
        .program = vigil->options.program,
        .environment = vigil->options.environment,
        .done = vigil_testified,
        .context = vigil,
    };
    pid_t pids[TESTIMONY_PIDS_MAX];
    size_t count = evidence_pids(vigil->evidence, pids, TESTIMONY_PIDS_MAX);
    vigil->testimony = testimony_ask(&options, pids, count);
    vigil->ras =
        ras_ask(vigil->options.loop, vigil->options.ras_address, vigil_nccl_answered, vigil);
}

static void vigil_examine_done(uv_timer_t *timer)
{
    struct vigil *vigil = timer->data;
    struct evidence_rank ranks[VIGIL_RANKS_MAX];
    unsigned count = crew_count(vigil->options.crew);
    count = count < VIGIL_RANKS_MAX ? count : VIGIL_RANKS_MAX;
    for (unsigned i = 0; i < count; i++) {
        const struct crew_rank *rank = crew_rank(vigil->options.crew, i);
        ranks[i] = (struct evidence_rank){rank->pid, (int)rank->rank};
    }
    free(vigil->summary);
    json_decref(vigil->found);
    vigil->found = evidence_finish(vigil->evidence, ranks, count, &vigil->summary);
    evidence_free(vigil->evidence);
    vigil->evidence = NULL;
    vigil_answer(vigil);
}

void vigil_examine(struct vigil *vigil)
{
    if (vigil->evidence || vigil->ras || vigil->testimony)
        return; /* that answer is this one's */
    vigil->evidence = evidence_begin();
    if (evidence_is_stopped(vigil->evidence))
        hang_look(&vigil->hang, HANG_EXCUSED, clock_steady_ms());
    uv_timer_start(&vigil->examiner, vigil_examine_done, VIGIL_EXAMINE_MS, 0);
    vigil_ask(vigil);
}

void vigil_testify(struct vigil *vigil)
{
    if (!vigil->found)
        return;
    json_object_set_new(vigil->found, "silent", json_real((double)vigil->hang.silence_ms / 1000));
    json_object_set_new(vigil->found, "summary", json_string(vigil->summary));
    journal_add(vigil->options.journal, JOURNAL_STATE, "evidence", vigil->found);
    journal_flush(vigil->options.journal);
    vigil->found = NULL;
}

/* --- The end ---------------------------------------------------------------------------------- */

static void vigil_closed(uv_handle_t *handle)
{
    struct vigil *vigil = handle->data;
    evidence_free(vigil->evidence);
    json_decref(vigil->found);
    json_decref(vigil->tools);
    quiet_free(vigil->quiet);
    free(vigil->summary);
    free(vigil->nccl);
    free(vigil);
}

void vigil_close(struct vigil *vigil)
{
    if (!vigil)
        return;
    ras_cancel(vigil->ras);
    testimony_cancel(vigil->testimony);
    vigil->ras = NULL;
    vigil->testimony = NULL;
    uv_close((uv_handle_t *)&vigil->examiner, vigil_closed);
}
