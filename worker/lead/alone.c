/* Says whether another run may follow, and makes its folder. */
#include "worker/lead/alone.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/protocol/message.h"
#include "lib/protocol/outcome.h"
#include "lib/protocol/words.h"
#include "lib/text.h"
#include "worker/lead/job_folder.h"
#include "worker/protocol/assignment.h"
#include "worker/protocol/lineage.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

bool alone_may_follow(const struct assignment *last, const struct outcome *outcome,
                      int64_t saved_step)
{
    int64_t began = last->resume ? last->resume_step : -1; /* step 0 is a step */
    bool has_saved = saved_step > began, has_worked = outcome->last_step > began;
    /* a run that timed out without a checkpoint would only repeat itself */
    if (outcome->kind != OUTCOME_PREEMPTED)
        return outcome->kind == OUTCOME_TIMED_OUT && has_saved;
    if (has_worked || has_saved)
        return true;
    char *phase_dir = file_parent(last->file.run_dir);
    unsigned before = last->file.attempt - 1;
    bool may_follow =
        lineage_is_unseen(phase_dir, before, last->checkpoint_path) || last->file.is_anew ||
        lineage_stuck(phase_dir, before, last->checkpoint_path) + 1 < STALLED_RUNS_MAX;
    free(phase_dir);
    return may_follow;
}

static int alone_write_run(const struct assignment *last, const char *run_dir,
                           const char *phase_dir, struct error *err)
{
    struct run_file next = last->file;
    json_t *resume = lineage_checkpoint(phase_dir, last->file.attempt);
    next.run = 0;
    next.attempt++;
    next.run_dir = run_dir;
    next.is_alone = true;
    next.known_run = last->known_run;
    next.is_anew = false;                 /* it continues the work of the last run */
    next.known_step = RUN_FILE_NO_CHOICE; /* it was not prepared in advance */
    next.resume = resume;
    json_t *json = run_file_to_json(&next);
    int status = message_create_once(json, err, "%s/run.json", run_dir);
    json_decref(json);
    json_decref(resume);
    return status;
}

int alone_make_run(const struct assignment *last, char **ret_run_dir, struct error *err)
{
    char *phase_dir = file_parent(last->file.run_dir);
    char *run_dir = text_format("%s/%u", phase_dir, last->file.attempt + 1);
    int status = 0;
    if (lineage_stuck(phase_dir, last->file.attempt, last->checkpoint_path) >= STALLED_RUNS_MAX)
        status = error_set(err, -ECANCELED,
                           "three runs in a row made no new step and saved no newer checkpoint");
    if (status == 0)
        status = file_make_folders(run_dir, 0700, err);
    if (status == 0)
        status = alone_write_run(last, run_dir, phase_dir, err);
    if (status == -EEXIST)
        status = job_folder_check_run(last->file.job_dir, run_dir, err);
    if (status == 0) {
        *ret_run_dir = run_dir;
        run_dir = NULL;
    }
    free(run_dir);
    free(phase_dir);
    return status;
}

char *alone_find_numbered(const struct assignment *last)
{
    char *phase_dir = file_parent(last->file.run_dir);
    unsigned attempt = lineage_numbered(phase_dir, last->file.attempt);
    char *run_dir = attempt ? text_format("%s/%u", phase_dir, attempt) : NULL;
    free(phase_dir);
    return run_dir;
}
