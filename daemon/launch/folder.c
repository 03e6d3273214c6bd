/* Preparing the folders that a job and a run begin with. */
#include "daemon/core/model.h"
#include "daemon/launch/launch_private.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/home.h"
#include "lib/json.h"
#include "lib/memory.h"
#include "lib/protocol/job_files.h"
#include "lib/protocol/journal_file.h"
#include "lib/protocol/outcome.h"
#include "lib/protocol/run_file.h"
#include "lib/text.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void folder_init_job(struct folder *folder, const struct home *home, const struct run *run,
                     const struct allocation *allocation)
{
    const struct phase *phase = run->phase;
    const struct seat *seat = run->seat;
    unsigned long long workflow = phase->workflow->id;
    *folder = (struct folder){
        .workflow = text_format("%s/%llu", home->runs, workflow),
        .job = text_format("%s/%llu/phased-%s", home->runs, workflow, seat->token),
        .own = text_format("%s/%llu/phased-%s", home->runs, workflow,
                           seat_is_joined(seat) ? seat->token : allocation->token),
        .phase = text_format("%s/%llu/%s", home->runs, workflow, phase->name),
        .out = text_format("%s/%llu/%s/out", home->runs, workflow, phase->name),
        .run = text_format("%s/%llu/%s/%u", home->runs, workflow, phase->name, run->attempt),
    };
}

void folder_init(struct folder *folder, const struct home *home, const struct run *run)
{
    folder_init_job(folder, home, run, run->seat->allocation);
}

void folder_fini(struct folder *folder)
{
    free(folder->own);
    free(folder->workflow);
    free(folder->job);
    free(folder->phase);
    free(folder->out);
    free(folder->run);
}

/* Returns 1 if the folder is new. Then nobody can be reading in it. */
static int make(const char *path, struct error *err)
{
    if (mkdir(path, 0700) == 0)
        return 1;
    if (errno == EEXIST)
        return home_check_folder(path, err);
    return error_set(err, -errno, "could not make the folder %s: %s", path, strerror(errno));
}

static int write_to(const char *path, const char *data, size_t size, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    int status = fd < 0 ? -errno : file_write(fd, data, size);
    if (fd >= 0 && close(fd) < 0 && status == 0)
        status = -errno;
    return status;
}

/* Does what file_replace() does, but does not sync. In a new folder it does not rename either. */
static int write_file(const char *parent, bool is_new, const char *name, const char *data,
                      mode_t mode, struct error *err)
{
    char *path = text_format("%s/%s", parent, name);
    char *draft = is_new ? xstrdup(path) : text_format("%s/.%s.new", parent, name);
    int status = write_to(draft, data, strlen(data), mode);
    if (status == 0 && !is_new && rename(draft, path) < 0)
        status = -errno;
    if (status < 0) {
        (void)unlink(draft); /* the draft may not exist */
        (void)error_set(err, status, "could not write %s: %s", path, strerror(-status));
    }
    free(path);
    free(draft);
    return status;
}

static void add(json_t *object, const char *name, json_t *value)
{
    if (json_object_set_new(object, name, value) < 0)
        abort(); /* no memory: all texts here are UTF-8 */
}

/* Returns for each phase whether it comes before `phase`. A phase stands after the phases that it
 * waits for. The caller frees the result. */
static bool *list_before(const struct phase *phase)
{
    const struct workflow *workflow = phase->workflow;
    bool *is_before = xcalloc(workflow->phase_count, sizeof *is_before);
    is_before[phase->index] = true;
    for (size_t i = phase->index + 1; i-- > 0;)
        for (size_t j = 0; is_before[i] && j < workflow->phases[i].after_count; j++)
            is_before[workflow->phases[i].after[j]] = true;
    is_before[phase->index] = false;
    return is_before;
}

/* What the earlier phases left: {"prepare": {"out": "/...", "checkpoint": null}}. */
static json_t *inputs_json(const struct folder *folder, const struct phase *phase)
{
    json_t *inputs = json_object();
    bool *is_before = list_before(phase);
    for (size_t i = 0; i < phase->index; i++) {
        const struct phase *named = &phase->workflow->phases[i];
        const struct phase *before = phase_result(named);
        if (!is_before[i] || before->members)
            continue;
        char *out = before->reused && !before->run
                        ? text_format("%s/../%s/out", folder->workflow, before->reused_from)
                        : text_format("%s/%s/out", folder->workflow, before->name);
        add(inputs, named->name,
            run_input_to_json(&(struct run_input){out, before->checkpoint_path}));
        free(out);
    }
    free(is_before);
    return inputs;
}

/* The phase as the run needs it. GPUs that a sandbox pretends have no driver, so nothing can be
 * found out about them, unless the workflow was submitted with the library of another driver. */
static json_t *spec_json(const struct store_launch *launch)
{
    if (!home_slurm_pretends() || json_object_get(launch->environment, "PHASED_NVML"))
        return json_incref((json_t *)launch->spec);
    json_t *spec = json_copy((json_t *)launch->spec);
    (void)json_object_set_new(spec, "preflight", json_string("off"));
    return spec;
}

static char *run_json(const struct folder *folder, const struct home *home, const struct run *run,
                      const struct store_launch *launch, const json_t *failures,
                      const struct resume *resume, json_t *from)
{
    const struct phase *phase = run->phase;
    unsigned parts = phase_parts(phase);
    char *secrets = launch_secrets_path(home, phase->workflow->id);
    json_t *inputs = inputs_json(folder, phase), *spec = spec_json(launch);
    const struct run_file file = {
        .run = (int64_t)run->id,
        .workflow = (int64_t)phase->workflow->id,
        .workflow_name = phase->workflow->name,
        .phase = phase->name,
        .phase_id = launch->phase_id,
        .attempt = run->attempt,
        .job_dir = folder->job,
        .run_dir = folder->run,
        .out_dir = folder->out,
        .daemon_file = home->daemon_file,
        .workdir = launch->workdir,
        .environment = launch->environment,
        .secrets = launch_needs_secrets(launch) ? secrets : NULL,
        .spec = spec,
        .inputs = inputs,
        .resume = from,
        .known_step = resume->is_open ? resume->known_step : RUN_FILE_NO_CHOICE,
        .is_anew = phase->is_anew,
        .changed = json_array_size(launch->changed) ? launch->changed : NULL,
        .failures = (json_t *)failures,
        .linger_s = phase->linger_s,
        .gpu_first =
            parts > 1 ? (int64_t)run->seat->slot * phase->gpus_per_node / parts : RUN_FILE_NO_PART,
    };
    json_t *json = run_file_to_json(&file);
    char *text = json_text(json, JSON_COMPACT);
    json_decref(json);
    json_decref(inputs);
    json_decref(spec);
    free(secrets);
    return text;
}

static bool has_lead_journal(const struct folder *folder)
{
    char *path = journal_path(folder->run, "lead");
    file_look_again(folder->run); /* the lead makes the folder of the journals */
    bool has = access(path, F_OK) == 0;
    free(path);
    return has;
}

/* Whether a lead has begun the run in this folder. The lead may have begun it alone, or before the
 * daemon was restarted. */
static bool was_begun(const struct folder *folder, const struct run *run,
                      const struct run_file *file)
{
    return file->is_alone || (file->run == (int64_t)run->id && has_lead_journal(folder));
}

static bool is_of_job(const struct folder *folder, const struct run_file *file)
{
    return !file->job_dir ||
           text_equal(job_folder_name(file->job_dir), job_folder_name(folder->job));
}

int folder_resume(const struct folder *folder, json_t **ret_resume)
{
    struct run_file file;
    int status = run_file_read(folder->run, &file, NULL);
    *ret_resume = json_incref(file.resume);
    run_file_fini(&file);
    return status;
}

/* Looks for a run that a lead has begun in the folder. If there is one, `ret_resume` is what that
 * run resumes from. */
static int take_over(const struct folder *folder, const struct run *run, bool *ret_is_begun,
                     json_t **ret_resume, struct error *err)
{
    struct run_file file;
    int status = run_file_read(folder->run, &file, err);
    if (status == -ENOENT || status == -EINVAL || status == -EFBIG)
        status = 0; /* nobody has begun a run without the whole file */
    bool is_there = was_begun(folder, run, &file), is_own = is_of_job(folder, &file);
    *ret_is_begun = is_there && is_own;
    *ret_resume = *ret_is_begun ? json_incref(file.resume) : NULL;
    if (is_there && !is_own) {
        char *aside = text_format("%s.of-%s", folder->run, job_folder_name(file.job_dir));
        if (rename(folder->run, aside) < 0)
            status =
                error_set(err, -errno, "could not set %s aside: %s", folder->run, strerror(errno));
        free(aside);
    }
    run_file_fini(&file);
    return status;
}

static int write_run(const char *path, bool is_new, const char *secret, const char *json,
                     struct error *err)
{
    int status = write_file(path, is_new, "secret", secret, 0600, err);
    return status < 0 ? status : write_file(path, is_new, "run.json", json, 0600, err);
}

/* Returns -EEXIST if the folder was made meanwhile. */
static int make_whole(const struct folder *folder, const struct run *run, const char *secret,
                      const char *json, struct error *err)
{
    char *draft = text_format("%s/.%u.new", folder->phase, run->attempt);
    int status = make(draft, err);
    if (status >= 0)
        status = write_run(draft, true, secret, json, err); /* an old draft is ours, too */
    if (status == 0 && rename(draft, folder->run) < 0) {
        status = errno == ENOTEMPTY ? -EEXIST : -errno;
        (void)error_set(err, status, "could not make the folder %s: %s", folder->run,
                        strerror(-status));
    }
    free(draft);
    return status;
}

int folder_make_run(const struct folder *folder, const struct home *home, const struct run *run,
                    const struct store_launch *launch, const json_t *failures, const char *secret,
                    const struct resume *resume, bool *ret_is_begun, struct error *err)
{
    bool is_begun = false;
    json_t *begun = NULL;
    int status = make(folder->workflow, err);
    if (status >= 0)
        status = make(folder->phase, err);
    if (status >= 0)
        status = take_over(folder, run, &is_begun, &begun, err);
    if (status < 0)
        return status;
    char *json =
        run_json(folder, home, run, launch, failures, resume, is_begun ? begun : resume->from);
    if (access(folder->run, F_OK) == 0)
        status = write_run(folder->run, false, secret, json, err);
    else
        status = make_whole(folder, run, secret, json, err);
    free(json);
    if (status == 0)
        *ret_is_begun = is_begun;
    json_decref(begun);
    return status;
}

static int make_empty(const struct folder *folder, struct error *err)
{
    int status = make(folder->workflow, err);
    if (status >= 0)
        status = make(folder->phase, err);
    return status < 0 ? status : make(folder->run, err);
}

/* A run that never began may have no folder yet. Another daemon, which was paused before it
 * submitted the run's job, may still submit it. The lead of that job must find the tombstone. */
int folder_seal(const struct folder *folder, const struct run *run, struct error *err)
{
    int status = run->has_begun ? 0 : make_empty(folder, err);
    if (status < 0)
        return status;
    struct run_file file;
    (void)run_file_read(folder->run, &file, NULL); /* a folder without the file may be ours */
    bool is_ours = access(folder->run, F_OK) == 0 && is_of_job(folder, &file);
    run_file_fini(&file);
    return is_ours ? outcome_seal(folder->run, (int64_t)run->id, run->outcome, run->message, err)
                   : 0;
}

/* Takes over the reference. */
static int write_json(const char *parent, bool is_new, const char *name, json_t *json,
                      struct error *err)
{
    char *text = json_text(json, JSON_COMPACT);
    int status = write_file(parent, is_new, name, text, 0600, err);
    free(text);
    json_decref(json);
    return status;
}

static int write_current(const struct folder *folder, bool is_new, struct error *err)
{
    return write_json(folder->job, is_new, "current.json", current_to_json(folder->run), err);
}

int folder_make_job(const struct folder *folder, const char *script, struct error *err)
{
    int status = make(folder->job, err);
    if (status < 0)
        return status;
    bool is_new = status > 0;
    bool is_candidate = !text_equal(folder->own, folder->job);
    if (is_candidate)
        status = make(folder->own, err);
    if (status >= 0)
        status = write_file(folder->own, is_new && !is_candidate, "job.sh", script, 0700, err);
    /* A lead that has claimed the folder may serve a later run by now. The job that is submitted
     * here is a second one for this folder, and ends at once. */
    char *claim = text_format("%s/claim", folder->job);
    file_look_again(folder->job);
    if (status >= 0 && access(claim, F_OK) < 0)
        status = write_current(folder, is_new, err);
    free(claim);
    return status;
}

/* Whether the host of the allocation must have a lead for the seat. The host starts the lead of its
 * own seat itself. This lead may have left before the seat got another run. */
static bool needs_lead(const struct seat *seat)
{
    const struct run *run = seat_run(seat);
    return run->state != RUN_ENDED && (seat_is_joined(seat) || (run->in_place && !run->has_begun));
}

/* guests.json: the folders of the seats in the allocation that need a lead, oldest first. */
static json_t *guests_json(const struct folder *folder, const struct workflow *workflow,
                           const struct allocation *allocation)
{
    json_t *guests = json_array();
    for (size_t i = 0; i < workflow->seat_count; i++) {
        const struct seat *seat = workflow->seats[i];
        if (seat->allocation != allocation || !needs_lead(seat))
            continue;
        if (json_array_append_new(guests,
                                  json_sprintf("%s/phased-%s", folder->workflow, seat->token)) < 0)
            abort();
    }
    return guests_to_json(guests);
}

int folder_join_job(const struct folder *folder, const struct run *run, struct error *err)
{
    const struct allocation *host = run->seat->allocation;
    int status = make(folder->job, err);
    if (status < 0)
        return status;
    /* Once the file exists, it belongs to the lead of the seat. */
    char *current = text_format("%s/current.json", folder->job);
    if (access(current, F_OK) < 0)
        status = write_current(folder, false, err);
    free(current);
    if (status < 0)
        return status;
    char *path = text_format("%s/phased-%s", folder->workflow, host->token);
    status = make(path, err);
    if (status >= 0)
        status = write_json(path, false, "guests.json",
                            guests_json(folder, run->phase->workflow, host), err);
    free(path);
    return status;
}
