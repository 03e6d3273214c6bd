/* Makes the folder of the next run. */
#include "worker/lead/alone.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/protocol/message.h"
#include "lib/text.h"
#include "worker/protocol/assignment.h"
#include "worker/protocol/lineage.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { ALONE_STUCK_MAX = 3 };

static json_t *alone_run_json(const struct assignment *last, const char *run_dir,
                              const char *phase_dir)
{
    json_t *json = json_deep_copy(last->json);
    if (!json)
        abort();
    json_object_set_new(json, "run", json_integer(0));
    json_object_set_new(json, "attempt", json_integer(last->attempt + 1));
    json_object_set_new(json, "run_dir", json_string(run_dir));
    json_object_set_new(json, "alone", json_true());
    json_object_set_new(json, "known_run", json_integer((json_int_t)last->known_run));
    (void)json_object_del(json, "anew");       /* the next run continues the work of the last run */
    (void)json_object_del(json, "known_step"); /* nobody has prepared the run before its time */
    json_object_set_new(json, "resume", lineage_checkpoint(phase_dir, last->attempt));
    return json;
}

/* Checks that an existing run belongs to this job. */
static int alone_check(const struct assignment *last, const char *run_dir, struct error *err)
{
    json_t *json;
    int status = message_read(&json, err, "%s/run.json", run_dir);
    const char *job_dir = json_string_value(json_object_get(json, "job_dir"));
    if (status == 0 && (!job_dir || !text_equal(job_dir, last->job_dir)))
        status = error_set(err, -EBUSY, "%s belongs to another job", run_dir);
    json_decref(json);
    return status;
}

int alone_make_run(const struct assignment *last, char **ret_run_dir, struct error *err)
{
    char *phase_dir = file_parent(last->run_dir);
    char *run_dir = text_format("%s/%u", phase_dir, last->attempt + 1);
    int status = 0;
    if (lineage_stuck(phase_dir, last->attempt) >= ALONE_STUCK_MAX)
        status = error_set(err, -ECANCELED, "three runs in a row made no new step");
    if (status == 0)
        status = file_make_folders(run_dir, 0700, err);
    if (status == 0) {
        json_t *json = alone_run_json(last, run_dir, phase_dir);
        status = message_create_once(json, err, "%s/run.json", run_dir);
        json_decref(json);
    }
    if (status == -EEXIST)
        status = alone_check(last, run_dir, err);
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
    char *phase_dir = file_parent(last->run_dir);
    unsigned attempt = lineage_numbered(phase_dir, last->attempt);
    char *run_dir = attempt ? text_format("%s/%u", phase_dir, attempt) : NULL;
    free(phase_dir);
    return run_dir;
}
