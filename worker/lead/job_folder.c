/* Reads and writes the claim of a job's folder, and the run that it serves. */
#include "worker/lead/job_folder.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "worker/protocol/phase_claim.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    JOB_FOLDER_FILE_MAX = 65536,
    JOB_FOLDER_RUN_MAX = 16 << 20, /* the environment in it may be large */
};

/* Reads who has the claim. The job id is 0 if the claim cannot be read. */
static struct phase_life job_folder_claimant(const char *path)
{
    char *text = NULL;
    json_t *json = NULL;
    if (file_read(path, JOB_FOLDER_FILE_MAX, &text, NULL, NULL) == 0)
        json = json_loads(text, JSON_DECODE_ANY, NULL);
    const char *token = json_string_value(json_object_get(json, "token"));
    /* An older worker wrote only the id. */
    const json_t *id = json_is_integer(json) ? json : json_object_get(json, "job_id");
    struct phase_life life = {
        .job_id = json_integer_value(id),
        .restarts = (unsigned)json_integer_value(json_object_get(json, "restarts")),
    };
    (void)snprintf(life.token, sizeof life.token, "%s", token ? token : "");
    json_decref(json);
    free(text);
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
    char *path = text_format("%s/claim", job_dir);
    json_t *json = json_pack("{s:I, s:s, s:i}", "job_id", (json_int_t)life->job_id, "token",
                             life->token, "restarts", (int)life->restarts);
    char *text = json_dumps(json, JSON_COMPACT);
    if (!text)
        abort();
    int status = file_create_once(path, text, strlen(text), 0600, err);
    struct phase_life claimant = status < 0 ? job_folder_claimant(path) : *life;
    if (claimant.job_id && job_folder_is_same(&claimant, life))
        status = 0;
    else if (claimant.job_id)
        status = error_set(err, -EBUSY, "job %lld%s serves %s already", (long long)claimant.job_id,
                           claimant.job_id == life->job_id ? " (another job with the same id)" : "",
                           job_dir);
    free(text);
    json_decref(json);
    free(path);
    return status;
}

static const char *job_folder_name(const char *job_dir)
{
    const char *slash = strrchr(job_dir, '/');
    return slash ? slash + 1 : job_dir;
}

int job_folder_check_run(const char *job_dir, const char *run_dir, struct error *err)
{
    char *path = text_format("%s/run.json", run_dir), *text = NULL;
    json_t *run = file_read(path, JOB_FOLDER_RUN_MAX, &text, NULL, NULL) == 0
                      ? json_loads(text, 0, NULL)
                      : NULL;
    const char *other = json_string_value(json_object_get(run, "job_dir"));
    int status = 0;
    if (other && !text_equal(job_folder_name(other), job_folder_name(job_dir)))
        status = error_set(err, -EBUSY, "%s now belongs to %s", run_dir, other);
    json_decref(run);
    free(text);
    free(path);
    return status;
}

int job_folder_read_current(const char *job_dir, char **ret_run_dir, struct error *err)
{
    char *path = text_format("%s/current.json", job_dir), *text = NULL;
    int status = file_read(path, JOB_FOLDER_FILE_MAX, &text, NULL, err);
    json_t *current = status == 0 ? json_loads(text, 0, NULL) : NULL;
    const char *run_dir = json_string_value(json_object_get(current, "run_dir"));
    if (status == 0 && !run_dir)
        status = error_set(err, -EINVAL, "%s names no run_dir", path);
    if (status == 0)
        status = job_folder_check_run(job_dir, run_dir, err);
    if (status == 0)
        *ret_run_dir = xstrdup(run_dir);
    json_decref(current);
    free(text);
    free(path);
    return status;
}

int job_folder_replace_current(const char *job_dir, const char *run_dir, struct error *err)
{
    char *path = text_format("%s/current.json", job_dir);
    json_t *current = json_pack("{s:s}", "run_dir", run_dir);
    char *text = json_dumps(current, 0);
    if (!text)
        abort();
    int status = file_replace(path, text, strlen(text), 0600, err);
    json_decref(current);
    free(text);
    free(path);
    return status;
}
