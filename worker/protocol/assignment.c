/* Reads run.json. */
#include "worker/protocol/assignment.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/json.h"
#include "lib/memory.h"
#include "lib/protocol/hardware.h"
#include "lib/protocol/message.h"
#include "lib/protocol/told_checkpoint.h"
#include "lib/spec/overlay.h"
#include "lib/spec/phase.h"
#include "lib/text.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>

static const struct {
    const char *name;
    int number;
} assignment_signals[] = {
    {"TERM", SIGTERM}, {"INT", SIGINT}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP},
};

static int assignment_signal(struct assignment *assignment, const char *name, struct error *err)
{
    for (size_t i = 0; i < sizeof assignment_signals / sizeof assignment_signals[0]; i++)
        if (text_equal(name, assignment_signals[i].name)) {
            assignment->stop_signal = assignment_signals[i].number;
            assignment->stop_signal_name = assignment_signals[i].name;
            return 0;
        }
    return error_set(err, -EINVAL, "checkpoint.stop_signal %s is not supported", name);
}

/* A whole number may be written as 90 or 90.0. */
static int assignment_number(const json_t *object, const char *name, int otherwise)
{
    double number = json_number_value(json_object_get(object, name));
    if (!json_is_number(json_object_get(object, name)) || number < 0 || number > INT_MAX)
        return otherwise;
    return (int)number;
}

static int assignment_read_checkpoint(struct assignment *assignment, struct error *err)
{
    const json_t *checkpoint = json_object_get(assignment->spec, "checkpoint");
    const char *name = json_string_value(json_object_get(checkpoint, "stop_signal"));
    assignment->save_time_s = assignment_number(checkpoint, "save_time_s", PHASE_STOP_S);
    assignment->keep = (unsigned)assignment_number(checkpoint, "keep", 0);
    assignment->checkpoint_path = json_string_value(json_object_get(checkpoint, "path"));
    return assignment_signal(assignment, name ? name : "TERM", err);
}

int assignment_read_sizes(const json_t *parallel, struct assignment_sizes *ret_sizes,
                          struct error *err)
{
    struct assignment_sizes sizes = {0};
    int tensor, pipeline, data;
    json_error_t where;
    if (json_is_object(parallel)) {
        if (json_unpack_ex((json_t *)parallel, &where, 0, "{s:i, s:i, s:i}", "tensor", &tensor,
                           "pipeline", &pipeline, "data", &data) < 0)
            return error_set(err, -EINVAL, "spec: parallel: %s", where.text);
        if (tensor < 1 || pipeline < 1 || data < 1)
            return error_set(err, -EINVAL, "spec: parallel has a size below 1");
        sizes = (struct assignment_sizes){(unsigned)tensor, (unsigned)pipeline, (unsigned)data};
    }
    *ret_sizes = sizes;
    return 0;
}

static int assignment_read_parallel(struct assignment *assignment, struct error *err)
{
    struct assignment_sizes *sizes = &assignment->parallel;
    int status = assignment_read_sizes(json_object_get(assignment->spec, "parallel"), sizes, err);
    uint64_t total = (uint64_t)assignment->nodes * assignment->gpus;
    uint64_t product = (uint64_t)sizes->tensor * sizes->pipeline * sizes->data;
    if (status == 0 && sizes->tensor && product != total)
        return error_set(err, -EINVAL, "spec: parallel needs %llu GPUs, not %llu",
                         (unsigned long long)product, (unsigned long long)total);
    uint64_t group = (uint64_t)sizes->tensor * sizes->pipeline;
    bool is_group = assignment->launch == ASSIGNMENT_LAUNCH_GROUP;
    if (status == 0 && is_group && (group == 0 || assignment->gpus % group))
        return error_set(err, -EINVAL, "spec: %u GPUs of a node are not a whole number of groups",
                         assignment->gpus);
    if (status == 0 && !is_group && (assignment->shard_input || assignment->join))
        return error_set(err, -EINVAL, "spec: shard and join need launch: group");
    return status;
}

/* An optional member may be null or absent. jansson's "s?" accepts only absence, so such members
 * are read one by one. */
static int assignment_read_spec(struct assignment *assignment, struct error *err)
{
    const char *launch = json_member_string(assignment->spec, "launch");
    const char *level = json_member_string(assignment->spec, "preflight");
    const json_t *resources = json_object_get(assignment->spec, "resources");
    json_error_t where;
    if (json_unpack_ex(assignment->spec, &where, 0, "{s:s}", "run", &assignment->script) < 0)
        return error_set(err, -EINVAL, "spec: %s", where.text);
    assignment->workdir = json_member_string(assignment->spec, "workdir");
    if (launch && text_equal(launch, "rank"))
        assignment->launch = ASSIGNMENT_LAUNCH_RANK;
    else if (!launch || text_equal(launch, "node"))
        assignment->launch = ASSIGNMENT_LAUNCH_NODE;
    else if (text_equal(launch, "group"))
        assignment->launch = ASSIGNMENT_LAUNCH_GROUP;
    else
        return error_set(err, -ENOTSUP, "launch: %s: not supported yet", launch);
    assignment->nodes = (unsigned)assignment_number(resources, "nodes", 1);
    assignment->gpus = (unsigned)assignment_number(resources, "gpus", 0);
    /* A phase without GPUs costs little while it hangs, and often works silently. */
    int otherwise = assignment->gpus ? ASSIGNMENT_HANG_AUTOMATIC : ASSIGNMENT_HANG_OFF;
    assignment->hang_s = assignment_number(assignment->spec, "hang_s", otherwise);
    assignment->idle_s = assignment_number(assignment->spec, "idle_s", 0);
    /* With alternatives, this is the type of the first alternative, but the job may be for another
     * alternative. So the type promises nothing. */
    if (json_array_size(json_object_get(resources, "alternatives")) == 0)
        assignment->gpu_type = json_member_string(resources, "gpu_type");
    assignment->preflight = level && text_equal(level, "off") ? NULL : level;
    assignment->preflight_observes =
        json_is_true(json_object_get(assignment->spec, "preflight_observe"));
    if (assignment->nodes == 0)
        return error_set(err, -EINVAL, "spec: resources.nodes is 0");
    const json_t *shard = json_object_get(assignment->spec, "shard");
    assignment->shard_input = json_member_string(shard, "input");
    assignment->join = json_member_string(assignment->spec, "join");
    assignment->outputs = json_object_get(assignment->spec, "outputs");
    int status = assignment_read_parallel(assignment, err);
    return status < 0 ? status : assignment_read_checkpoint(assignment, err);
}

/* The results of a matrix's members are stored by the model of their GPU, which Slurm chooses. */
static bool assignment_wants_model(const json_t *spec)
{
    const json_t *resources = json_object_get(spec, "resources");
    bool is_open = !json_is_string(json_object_get(resources, "gpu_type")) ||
                   json_array_size(json_object_get(resources, "alternatives")) > 0;
    return json_is_object(json_object_get(spec, "member")) && is_open &&
           assignment_number(resources, "gpus", 0) > 0;
}

/* Returns the answer of the lead. NULL: the lead has written nothing, or nothing yet. */
static json_t *assignment_read_hardware(const char *run_dir)
{
    json_t *json;
    (void)message_read(&json, NULL, "%s/hardware.json", run_dir);
    return json;
}

/* The document itself stays unchanged, because the next run may get another GPU. */
static void assignment_lay(struct assignment *assignment, const json_t *spec)
{
    if (overlay_exists(spec) || assignment_wants_model(spec)) {
        assignment->hardware = assignment_read_hardware(assignment->file.run_dir);
        assignment->needs_hardware = !assignment->hardware;
    }
    assignment->spec = overlay_apply(spec, hardware_read(assignment->hardware).by_gpu);
}

static void assignment_read_resume(struct assignment *assignment)
{
    struct told_checkpoint resume = told_checkpoint_read(assignment->file.resume);
    assignment->resume = resume.path;
    assignment->resume_step = resume.path && resume.step > 0 ? resume.step : 0;
}

static int assignment_read_file(struct assignment *assignment, struct error *err)
{
    const struct run_file *file = &assignment->file;
    int status = run_file_check(file, err);
    if (status < 0)
        return status;
    assignment_lay(assignment, file->spec);
    assignment->known_run = file->is_alone ? file->known_run : file->run;
    assignment->address =
        text_format("%" PRId64 "/%s#%u", file->workflow, file->phase, file->attempt);
    assignment_read_resume(assignment);
    status = assignment_read_spec(assignment, err);
    /* The workdir of the spec overrides the folder in which submit was called. */
    if (!assignment->workdir)
        assignment->workdir = file->workdir;
    return status;
}

int assignment_read_secrets(struct assignment *assignment, struct error *err)
{
    const char *path = assignment->file.secrets;
    json_decref(assignment->secrets);
    assignment->secrets = NULL;
    return path ? message_read(&assignment->secrets, err, "%s", path) : 0;
}

int assignment_read(const char *run_dir, struct assignment **ret_assignment, struct error *err)
{
    struct assignment *assignment = xcalloc(1, sizeof *assignment);
    char *secret = text_format("%s/secret", run_dir);
    int status = run_file_read(run_dir, &assignment->file, err);
    if (status < 0)
        goto out;
    status = assignment_read_file(assignment, err);
    if (status < 0)
        error_prefix(err, "cannot use %s/run.json", run_dir);
    if (status == 0 && !assignment->file.is_alone)
        status = mac_secret_read(secret, &assignment->secret, err);
    if (status == 0) {
        *ret_assignment = assignment;
        assignment = NULL;
    }
out:
    assignment_free(assignment);
    free(secret);
    return status;
}

void assignment_free(struct assignment *assignment)
{
    if (!assignment)
        return;
    run_file_fini(&assignment->file);
    json_decref(assignment->spec);
    json_decref(assignment->hardware);
    json_decref(assignment->secrets);
    free(assignment->address);
    free(assignment);
}

int assignment_set_resume(struct assignment *assignment, json_t *resume, struct error *err)
{
    int status = run_file_set_resume(&assignment->file, resume, err);
    if (status == 0)
        assignment_read_resume(assignment);
    return status;
}

int assignment_make_folders(const char *run_dir, struct error *err)
{
    static const char *const names[] = {"journal", "log", "channel"};
    int status = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && status == 0; i++) {
        char *folder = text_format("%s/%s", run_dir, names[i]);
        status = file_make_folders(folder, 0700, err);
        free(folder);
    }
    return status;
}

unsigned assignment_ranks_per_node(const struct assignment *assignment)
{
    const struct assignment_sizes *sizes = &assignment->parallel;
    if (assignment->launch == ASSIGNMENT_LAUNCH_GROUP)
        return assignment->gpus / (sizes->tensor * sizes->pipeline);
    bool is_one = assignment->launch == ASSIGNMENT_LAUNCH_NODE || assignment->gpus == 0;
    return is_one ? 1 : assignment->gpus;
}
