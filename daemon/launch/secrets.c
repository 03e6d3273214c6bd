/* The files with the secrets of workflows: writes them, and removes them when they are over. */
#include "lib/secrets.h"
#include "daemon/core/model.h"
#include "daemon/launch/launch.h"
#include "daemon/loop/loop.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/home.h"
#include "lib/json.h"
#include "lib/protocol/message.h"
#include "lib/text.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SECRETS_EVERY_MS = 10000,
    /* How long a failed or cancelled workflow takes a retry that needs secrets. */
    SECRETS_REST_DAYS = 7,
};

char *launch_secrets_path(const struct home *home, uint64_t workflow)
{
    return text_format("%s/%" PRIu64, home->secrets, workflow);
}

int launch_secrets_write(const struct home *home, uint64_t workflow, const json_t *secrets,
                         struct error *err)
{
    char *path = launch_secrets_path(home, workflow);
    char *text = json_text(secrets, JSON_COMPACT);
    int status = file_make_folders(home->secrets, 0700, err);
    if (status == 0)
        status = file_replace(path, text, strlen(text), 0600, err);
    free(text);
    free(path);
    return status;
}

/* --- Checking --------------------------------------------------------------------------------- */

/* The name of a variable whose value is not among the secrets; NULL: there is no such variable. */
static const char *missing(const json_t *secrets, const json_t *environment)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)environment, name, value)
    {
        if (json_is_string(value) && !secrets_value(secrets, name, json_string_value(value)))
            return name;
    }
    return NULL;
}

/* As missing(), for all variables of a phase. */
static const char *missing_of(const json_t *secrets, const struct store_launch *launch)
{
    const char *name = missing(secrets, launch->environment);
    json_t *part;
    size_t index;
    if (!name)
        name = missing(secrets, json_object_get(launch->spec, "env"));
    json_array_foreach(json_object_get(launch->spec, "by_gpu"), index, part)
    {
        const json_t *own = json_object_get(json_object_get(part, "phase"), "env");
        name = name ? name : missing(secrets, own);
    }
    return name;
}

bool launch_needs_secrets(const struct store_launch *launch)
{
    return missing_of(NULL, launch) != NULL;
}

int launch_secrets_find(const struct home *home, uint64_t workflow,
                        const struct store_launch *launch, struct error *err)
{
    if (!launch_needs_secrets(launch))
        return 0;
    char *path = launch_secrets_path(home, workflow);
    json_t *secrets;
    int status = message_read(&secrets, err, "%s", path);
    if (status == 0 || status == -ENOENT) { /* without a file, there is no secret */
        const char *name = missing_of(secrets, launch);
        if (name)
            status = error_set(err, -ENOENT,
                               "the secret %.64s was removed after the workflow had ended: submit "
                               "the workflow again",
                               name);
        else
            status = 0;
    }
    json_decref(secrets);
    free(path);
    return status;
}

int launch_secrets_check(struct loop *loop, const struct phase *phase, struct error *err)
{
    struct store_launch launch;
    int status = store_launch_load(loop_store(loop), phase->id, &launch, err);
    if (status < 0)
        return status;
    status = launch_secrets_find(loop_config(loop)->home, phase->workflow->id, &launch, err);
    store_launch_fini(&launch);
    return status;
}

/* --- The room --------------------------------------------------------------------------------- */

/* Whether the file in the folder is of no use any more: no phase of its workflow will run again. A
 * workflow that has failed or was cancelled takes a retry for SECRETS_REST_DAYS. A file whose name
 * is not a number was left by a daemon that was killed while it wrote. */
static bool is_over(struct loop *loop, const char *name)
{
    char *end;
    struct error err;
    uint64_t workflow = strtoull(name, &end, 10);
    int64_t before_ms = loop_now_ms() - (int64_t)SECRETS_REST_DAYS * 24 * 3600 * 1000, ended_ms;
    enum workflow_state state;
    if (*end)
        return true;
    int status = store_workflow_state(loop_store(loop), workflow, &state, &ended_ms, &err);
    if (status < 0)
        return status == -ENOENT;
    return state == WORKFLOW_SUCCEEDED ||
           (workflow_state_is_final(state) && ended_ms && ended_ms < before_ms);
}

static void remove_old_secrets(void *state)
{
    struct loop *loop = state;
    const char *folder = loop_config(loop)->home->secrets;
    DIR *files = opendir(folder);
    const struct dirent *entry;
    while (files && (entry = readdir(files))) {
        if (text_equal(entry->d_name, ".") || text_equal(entry->d_name, "..") ||
            !is_over(loop, entry->d_name))
            continue;
        char *path = text_format("%s/%s", folder, entry->d_name);
        if (unlink(path) < 0 && errno != ENOENT)
            log_line("could not remove the secrets %s: %s", path, strerror(errno));
        free(path);
    }
    if (files)
        (void)closedir(files); /* it was only read */
}

const struct room secrets_room = {.every_ms = SECRETS_EVERY_MS, .look = remove_old_secrets};
