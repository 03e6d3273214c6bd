/* Makes what a run finds when it begins: its secret, the catalogue of failures, its folder. */
#include "daemon/admission/admission.h"
#include "daemon/launch/launch_private.h"
#include "daemon/loop/loop.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/failures/catalogue.h"
#include "lib/file.h"
#include "lib/home.h"
#include "lib/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Secrets ---------------------------------------------------------------------------------- */

int secret_write(void *state, const struct core_effect *effect, struct error *err)
{
    struct store *store = loop_store(((struct launch *)state)->loop);
    char secret[MAC_SECRET_SIZE];
    bool begins_run = effect->kind == FX_SUBMIT || effect->kind == FX_TELL_NEXT;
    int status = 0;
    if (begins_run && !effect->is_done)
        status = store_secret(store, effect->run->id, secret, err);
    if (status != -ENOENT)
        return status;
    mac_random(secret, sizeof secret);
    return store_secret_set(store, effect->run->id, secret, err);
}

/* --- Failures --------------------------------------------------------------------------------- */

static void failures_tell(struct loop *loop, const struct run *run,
                          const struct spec_problems *problems)
{
    struct text lines = {0};
    spec_problems_text(problems, &lines);
    for (const char *line = text_string(&lines); *line; line += strcspn(line, "\n") + 1)
        log_line("%.*s", (int)strcspn(line, "\n"), line);
    loop_warn(loop, run, "phased leaves out what is wrong in failures.yaml: %.*s%s",
              (int)strcspn(text_string(&lines), "\n"), text_string(&lines),
              problems->count > 1 ? ", and more (see the daemon's log)" : "");
    text_fini(&lines);
}

/* Returns the catalogue, borrowed until the next call. A mistake in the file is told once, in the
 * history of the run that is being prepared. A mistake never keeps a run from starting. */
static const json_t *failures_get(struct launch *launch, const struct run *run)
{
    const char *path = loop_config(launch->loop)->home->failures;
    struct stat now;
    if (stat(path, &now) < 0)
        now = (struct stat){0};
    if (launch->failures && file_is_unchanged(&launch->failures_seen, &now))
        return launch->failures;
    struct spec_problems problems = {0};
    json_decref(launch->failures);
    launch->failures = catalogue_load(path, &problems);
    launch->failures_seen = now;
    if (problems.count)
        failures_tell(launch->loop, run, &problems);
    spec_problems_fini(&problems);
    return launch->failures;
}

/* --- The run's folder ------------------------------------------------------------------------- */

/* Holds the phase if values of its secrets were removed, because its programs would fail. This may
 * come late: the phase may follow a phase without secrets that a person has let run again. */
static int hold_without_secrets(struct loop *loop, const struct run *run,
                                const struct store_launch *stored, struct error *err)
{
    struct phase *phase = run->phase;
    char who[REASON_MAX];
    int status = launch_secrets_find(loop_config(loop)->home, phase->workflow->id, stored, err);
    if (status != -ENOENT)
        return status;
    (void)snprintf(who, sizeof who, "phased: %.200s", err->message);
    struct core_event event = {.kind = EV_COMMAND,
                               .workflow = phase->workflow,
                               .phase = phase,
                               .command = COMMAND_HOLD,
                               .message = who};
    if (core_command_check(phase, COMMAND_HOLD, NULL) == 0)
        loop_post(loop, &event);
    return status;
}

int prepare(struct launch *launch, const struct run *run, const struct folder *folder,
            struct store_launch *ret_launch, bool *ret_is_begun, struct error *err)
{
    struct loop *loop = launch->loop;
    struct store *store = loop_store(loop);
    char secret[MAC_SECRET_SIZE];
    struct resume resume = {0};
    int status = store_secret(store, run->id, secret, err);
    if (status == 0)
        status = resume_choose(store, run, &resume, err);
    if (status == 0)
        status = store_launch_load(store, run->phase->id, ret_launch, err);
    if (status < 0)
        goto out;
    status = folder_make_run(folder, loop_config(loop)->home, run, ret_launch,
                             failures_get(launch, run), secret, &resume, ret_is_begun, err);
    if (status == 0 && !*ret_is_begun)
        status = hold_without_secrets(loop, run, ret_launch, err);
    if (status < 0)
        store_launch_fini(ret_launch);
    else if (resume.why && !*ret_is_begun)
        loop_warn(loop, run, "%s", resume.why);
out:
    resume_fini(&resume);
    return status;
}

int launch_next(struct loop *loop, const struct run *run, bool *ret_is_begun)
{
    struct launch *launch = loop_room(loop, &launch_room);
    struct store_launch stored;
    struct folder folder;
    struct error err;
    struct admission_spent spent;
    if (!admission_pays(loop, run->phase->workflow, &spent))
        return CARRIED_LATER_MS + CHANGE_RETRY_MS; /* the budget will hold the phase */
    if (search_again(loop, run))
        return CARRIED_LATER_MS + FOLDER_RETRY_MS;
    folder_init(&folder, loop_config(loop)->home, run);
    int status = prepare(launch, run, &folder, &stored, ret_is_begun, &err);
    if (status == 0) {
        store_launch_fini(&stored);
        if (phase_shares(run->phase))
            status = folder_join_job(&folder, run, &err);
    }
    folder_fini(&folder);
    if (status == 0)
        return CARRIED_OUT;
    log_line("could not prepare run %llu: %s", (unsigned long long)run->id, err.message);
    return CARRIED_LATER_MS + FOLDER_RETRY_MS;
}
