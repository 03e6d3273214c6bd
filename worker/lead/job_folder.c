/* Reads and writes the claim of a job's folder, and the run that it serves. */
#include "worker/lead/job_folder.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "lib/protocol/message.h"
#include "lib/protocol/run_file.h"
#include "lib/text.h"
#include "worker/protocol/phase_claim.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>

/* Reads who has the claim. The job id is 0 if the claim cannot be read. */
static struct phase_life job_folder_claimant(const char *job_dir)
{
    json_t *json;
    (void)message_read(&json, NULL, "%s/claim", job_dir);
    struct phase_life life = phase_life_read(json);
    if (json_is_integer(json)) /* an older worker wrote only the id */
        life.job_id = json_integer_value(json);
    json_decref(json);
    return life;
}

/* Whether `later` may be the same job as `earlier`. The number of restarts only grows. */
static bool job_folder_is_same(const struct phase_life *earlier, const struct phase_life *later)
{
    bool is_known = earlier->token[0] && later->token[0];
    return earlier->job_id == later->job_id && earlier->restarts <= later->restarts &&
           (!is_known || text_equal(earlier->token, later->token));
}

int job_folder_claim(const char *job_dir, const struct phase_life *life, struct error *err)
{
    json_t *json = json_pack("{s:I, s:s, s:i}", "job_id", (json_int_t)life->job_id, "token",
                             life->token, "restarts", (int)life->restarts);
    int status = message_create_once(json, err, "%s/claim", job_dir);
    struct phase_life claimant = status < 0 ? job_folder_claimant(job_dir) : *life;
    if (claimant.job_id && job_folder_is_same(&claimant, life))
        status = 0;
    else if (claimant.job_id)
        status = error_set(err, -EBUSY, "job %lld%s serves %s already", (long long)claimant.job_id,
                           claimant.job_id == life->job_id ? " (another job with the same id)" : "",
                           job_dir);
    json_decref(json);
    return status;
}

static const char *job_folder_name(const char *job_dir)
{
    const char *slash = strrchr(job_dir, '/');
    return slash ? slash + 1 : job_dir;
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
    json_t *current;
    int status = message_read(&current, err, "%s/current.json", job_dir);
    const char *run_dir = json_string_value(json_object_get(current, "run_dir"));
    if (status == 0 && !run_dir)
        status = error_set(err, -EINVAL, "%s/current.json names no run_dir", job_dir);
    if (status == 0)
        status = job_folder_check_run(job_dir, run_dir, err);
    if (status == 0)
        *ret_run_dir = xstrdup(run_dir);
    json_decref(current);
    return status;
}

int job_folder_replace_current(const char *job_dir, const char *run_dir, struct error *err)
{
    json_t *current = json_pack("{s:s}", "run_dir", run_dir);
    int status = message_replace(current, err, "%s/current.json", job_dir);
    json_decref(current);
    return status;
}
