/* Reads and writes run.json. */
#include "lib/protocol/run_file.h"

#include "lib/error.h"
#include "lib/protocol/members.h"
#include "lib/protocol/message.h"

#include <errno.h>

static const struct member run_file_members[] = {
    MEMBER(run_file, run, REQUIRED),
    MEMBER(run_file, workflow, REQUIRED),
    MEMBER(run_file, workflow_name, ALWAYS),
    MEMBER(run_file, phase, REQUIRED),
    MEMBER(run_file, phase_id, OPTIONAL),
    MEMBER(run_file, attempt, REQUIRED),
    MEMBER(run_file, job_dir, REQUIRED),
    MEMBER(run_file, run_dir, REQUIRED),
    MEMBER(run_file, out_dir, REQUIRED),
    MEMBER(run_file, daemon_file, REQUIRED),
    MEMBER(run_file, workdir, ALWAYS),
    MEMBER(run_file, environment, REQUIRED),
    MEMBER(run_file, secrets, OPTIONAL),
    MEMBER(run_file, spec, REQUIRED),
    MEMBER(run_file, inputs, ALWAYS),
    MEMBER(run_file, resume, ALWAYS),
    MEMBER_OR(run_file, known_step, OPTIONAL, RUN_FILE_NO_CHOICE),
    MEMBER_IS(run_file, anew, OPTIONAL),
    MEMBER(run_file, changed, OPTIONAL),
    MEMBER(run_file, failures, ALWAYS),
    MEMBER(run_file, linger_s, ALWAYS),
    MEMBER_OR(run_file, gpu_first, OPTIONAL, RUN_FILE_NO_PART),
    MEMBER_IS(run_file, alone, OPTIONAL),
    MEMBER(run_file, known_run, OPTIONAL),
    {0},
};

static const struct member run_input_members[] = {
    MEMBER(run_input, out, REQUIRED),
    MEMBER(run_input, checkpoint, ALWAYS),
    {0},
};

int run_file_read(const char *run_dir, struct run_file *ret_run, struct error *err)
{
    int status = message_read(&ret_run->document, err, "%s/run.json", run_dir);
    members_read(run_file_members, ret_run->document, ret_run);
    ret_run->resume = json_is_object(ret_run->resume) ? ret_run->resume : NULL;
    return status;
}

void run_file_fini(struct run_file *run)
{
    json_decref(run->document);
    *run = (struct run_file){0};
}

int run_file_check(const struct run_file *run, struct error *err)
{
    int status = members_check(run_file_members, run->document, err);
    if (status == 0 && !(json_is_object(run->environment) && json_is_object(run->spec)))
        status = error_set(err, -EINVAL, "environment and spec must be objects");
    return status;
}

json_t *run_file_to_json(const struct run_file *run)
{
    return members_write(run_file_members, run, run->document);
}

int run_file_set_resume(struct run_file *run, json_t *resume, struct error *err)
{
    struct run_file changed = *run;
    changed.resume = resume;
    json_t *json = run_file_to_json(&changed);
    int status = message_replace(json, err, "%s/run.json", run->run_dir);
    json_decref(json);
    if (status == 0 && json_object_set(run->document, "resume", resume) == 0)
        run->resume = resume; /* the document owns it now */
    return status;
}

MEMBERS_READ(run_input)
MEMBERS_TO_JSON(run_input)
