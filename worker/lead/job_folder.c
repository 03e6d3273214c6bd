/* Reads and writes the claim of a job's folder, and the run that it serves. */
#include "worker/lead/job_folder.h"

#include "lib/error.h"
#include "lib/protocol/claim.h"
#include "lib/protocol/job_files.h"
#include "lib/protocol/message.h"
#include "lib/protocol/run_file.h"
#include "lib/text.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>

/* Whether `later` may be the same job as `earlier`. The number of restarts only grows. */
static bool job_folder_is_same(const struct phase_life *earlier, const struct phase_life *later)
{
    bool is_known = earlier->token[0] && later->token[0];
    return earlier->job_id == later->job_id && earlier->restarts <= later->restarts &&
           (!is_known || text_equal(earlier->token, later->token));
}

int job_folder_claim(const char *job_dir, const struct phase_life *life, struct error *err)
{
    struct claim claim = {.life = *life, .known_run = CLAIM_OF_JOB};
    char *path = text_format("%s/claim", job_dir);
    json_t *json = claim_to_json(&claim);
    int status = message_create_once(json, err, "%s", path);
    if (status < 0)
        claim = claim_read(path);
    struct phase_life claimant = claim.life;
    claim_fini(&claim);
    if (claimant.job_id && job_folder_is_same(&claimant, life))
        status = 0;
    else if (claimant.job_id)
        status = error_set(err, -EBUSY, "job %lld%s serves %s already", (long long)claimant.job_id,
                           claimant.job_id == life->job_id ? " (another job with the same id)" : "",
                           job_dir);
    json_decref(json);
    free(path);
    return status;
}

int job_folder_check_run(const char *job_dir, const char *run_dir, struct error *err)
{
    struct run_file run;
    int status = 0;
    (void)run_file_read(run_dir, &run, NULL); /* a folder without the file is nobody's */
    if (run.job_dir && !text_equal(job_folder_name(run.job_dir), job_folder_name(job_dir)))
        status = error_set(err, -EBUSY, "%s now belongs to %s", run_dir, run.job_dir);
    run_file_fini(&run);
    return status;
}

int job_folder_read_current(const char *job_dir, char **ret_run_dir, struct error *err)
{
    char *run_dir = NULL;
    int status = current_read(job_dir, &run_dir, err);
    if (status == 0)
        status = job_folder_check_run(job_dir, run_dir, err);
    if (status == 0)
        *ret_run_dir = run_dir;
    else
        free(run_dir);
    return status;
}

int job_folder_replace_current(const char *job_dir, const char *run_dir, struct error *err)
{
    json_t *current = current_to_json(run_dir);
    int status = message_replace(current, err, "%s/current.json", job_dir);
    json_decref(current);
    return status;
}
