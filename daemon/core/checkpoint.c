/* Which checkpoint the next run of a phase begins from: the newest whole checkpoint that is not
 * suspect, or the checkpoint that a person or a remedy chose. This file goes by what the workers
 * told. When the folder of the run is made, resume_choose() (daemon/launch/resume.c) chooses again,
 * by the files. When the run begins, lead_run_choose_newest() (worker/lead/lead_run.c) chooses once
 * more. */
#include "daemon/core/decision.h"

#include "lib/memory.h"
#include "lib/text.h"

#include <stdlib.h>

static void phase_set_checkpoint(struct phase *phase, const char *path, int64_t at)
{
    char *copy = xstrdup_or_null(path); /* the path may belong to the phase */
    free(phase->checkpoint_path);
    phase->checkpoint_path = copy;
    phase->checkpoint_step = copy ? at : 0;
}

void phase_choose_checkpoint(struct phase *phase, const char *path, int64_t at)
{
    phase->is_anew = !path[0];
    phase_set_checkpoint(phase, path[0] ? path : NULL, at);
}

struct run *core_run_before(const struct run *run)
{
    const struct phase *phase = run->phase;
    const struct workflow *workflow = phase->workflow;
    if (run != phase->run || run->state == RUN_ENDED || run->has_begun || phase->is_chosen ||
        phase->is_anew)
        return NULL;
    for (size_t i = workflow->run_count; i-- > 0;) {
        struct run *before = workflow->runs[i];
        bool never_began = before->state == RUN_ENDED && !before->has_begun;
        if (before->phase != phase || before == run || never_began)
            continue;
        return before->state == RUN_ENDED && !before->is_remedied ? before : NULL;
    }
    return NULL;
}

void checkpoint_on_saved(struct decision *decision, const struct fact *fact)
{
    struct run *run = fact->run;
    struct phase *phase = run->phase;
    const struct core_event *event = decision->event;
    bool is_late = run->state == RUN_ENDED;
    if (!event->path || event->step < 0 ||
        (is_late ? core_run_before(phase->run) != run : run != phase->run))
        return;
    if (run->suspect_step >= 0 && event->step >= run->suspect_step)
        return;
    /* A lower step counts only if it is the first that the run saves, and the run began before the
     * phase's checkpoint. */
    bool is_behind = phase->checkpoint_path && event->step < phase->checkpoint_step;
    if (is_behind && (run->has_saved || phase->checkpoint_step <= run->resume_step))
        return;
    run->has_saved = true;
    phase_set_checkpoint(phase, event->path, event->step);
    decision_save_phase(decision, phase);
    if (is_late) {
        run_set_resume(phase->run, event->path, event->step);
        decision_save_run(decision, phase->run);
    }
}

/* The phase goes back to the checkpoint that it had before the guard failed. The checkpoint is of
 * this run, or is the checkpoint from which this run began. */
void checkpoint_on_suspect(struct decision *decision, const struct fact *fact)
{
    struct run *run = fact->run;
    struct phase *phase = run->phase;
    const struct core_event *event = decision->event;
    bool is_first = run->suspect_step < 0;
    if (is_first || event->since < run->suspect_step)
        run->suspect_step = event->since;
    if (is_first || event->suspected_ms < run->suspected_ms)
        run->suspected_ms = event->suspected_ms;
    bool is_before = run->resume_path && phase->checkpoint_path &&
                     text_equal(phase->checkpoint_path, run->resume_path);
    if (run != phase->run || !phase->checkpoint_path)
        return;
    if (is_before ? !event->path : phase->checkpoint_step < event->since)
        return;
    if (event->path)
        phase_set_checkpoint(phase, event->path, event->step);
    else
        phase_set_checkpoint(phase, run->resume_path, run->resume_step);
    decision_save_phase(decision, phase);
}
