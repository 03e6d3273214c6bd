/* Reads and writes current.json and guests.json. */
#include "lib/protocol/job_files.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "lib/protocol/members.h"
#include "lib/protocol/message.h"

#include <errno.h>
#include <string.h>

struct job_files {
    const char *run_dir; /* of current.json */
    json_t *job_dirs;    /* of guests.json */
};

static const struct member job_files_members[] = {
    MEMBER(job_files, run_dir, OPTIONAL),
    MEMBER(job_files, job_dirs, OPTIONAL),
    {0},
};

const char *job_folder_name(const char *job_dir)
{
    const char *slash = strrchr(job_dir, '/');
    return slash ? slash + 1 : job_dir;
}

int current_read(const char *job_dir, char **ret_run_dir, struct error *err)
{
    struct job_files files;
    json_t *json;
    int status = message_read(&json, err, "%s/current.json", job_dir);
    members_read(job_files_members, json, &files);
    if (status == 0 && !files.run_dir)
        status = error_set(err, -EINVAL, "%s/current.json names no run_dir", job_dir);
    if (status == 0)
        *ret_run_dir = xstrdup(files.run_dir);
    json_decref(json);
    return status;
}

json_t *current_to_json(const char *run_dir)
{
    return members_write(job_files_members, &(struct job_files){.run_dir = run_dir}, NULL);
}

json_t *guests_read(const char *job_dir)
{
    struct job_files files;
    json_t *json;
    (void)message_read(&json, NULL, "%s/guests.json", job_dir); /* no file: no guests */
    members_read(job_files_members, json, &files);
    json_t *job_dirs = json_incref(files.job_dirs);
    json_decref(json);
    return job_dirs;
}

json_t *guests_to_json(json_t *job_dirs)
{
    json_t *json =
        members_write(job_files_members, &(struct job_files){.job_dirs = job_dirs}, NULL);
    json_decref(job_dirs);
    return json;
}
