/* Claiming a job's folder, and what it serves. */
#include "worker/lead/job_folder.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/text.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { JOB_FOLDER_FILE_MAX = 65536 };

/* Whose the claim is; 0 when that cannot be read. */
static int64_t job_folder_claimant(const char *path)
{
    char *text = NULL;
    int64_t job_id = 0;
    if (file_read(path, JOB_FOLDER_FILE_MAX, &text, NULL, NULL) == 0)
        job_id = strtoll(text, NULL, 10);
    free(text);
    return job_id;
}

int job_folder_claim(const char *job_dir, int64_t job_id, struct error *err)
{
    char *path = text_format("%s/claim", job_dir);
    char *own = text_format("%s/claim.%lld", job_dir, (long long)job_id);
    char *text = text_format("%lld\n", (long long)job_id);
    /* A link is made whole or not at all, and only where there is nothing: a lead that is killed
     * between making and writing would leave a claim of nobody. */
    int result = file_replace(own, text, strlen(text), 0600, err);
    if (result == 0 && link(own, path) < 0)
        result = error_set(err, -errno, "could not make %s: %s", path, strerror(errno));
    int64_t claimant = result < 0 ? job_folder_claimant(path) : job_id;
    if (claimant == job_id)
        result = 0;
    else if (claimant)
        result = error_set(err, -EBUSY, "job %lld serves %s already", (long long)claimant, job_dir);
    (void)unlink(own); /* it may not be there */
    free(text);
    free(own);
    free(path);
    return result;
}

int job_folder_read_current(const char *job_dir, char **ret_run_dir, struct error *err)
{
    char *path = text_format("%s/current.json", job_dir), *text = NULL;
    int result = file_read(path, JOB_FOLDER_FILE_MAX, &text, NULL, err);
    json_t *current = result == 0 ? json_loads(text, 0, NULL) : NULL;
    const char *run_dir = json_string_value(json_object_get(current, "run_dir"));
    if (run_dir)
        *ret_run_dir = text_format("%s", run_dir);
    else if (result == 0)
        result = error_set(err, -EINVAL, "%s names no run_dir", path);
    json_decref(current);
    free(text);
    free(path);
    return result;
}

int job_folder_replace_current(const char *job_dir, const char *run_dir, struct error *err)
{
    char *path = text_format("%s/current.json", job_dir);
    json_t *current = json_pack("{s:s}", "run_dir", run_dir);
    char *text = json_dumps(current, 0);
    if (!text)
        abort();
    int result = file_replace(path, text, strlen(text), 0600, err);
    json_decref(current);
    free(text);
    free(path);
    return result;
}
