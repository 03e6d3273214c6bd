/* Finds what a container of a run needs on this node, and keeps the folder of its image. */
#include "worker/node/container.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/secrets.h"
#include "lib/spec/container.h"
#include "lib/text.h"
#include "worker/node/rank_environment.h"
#include "worker/process/child.h"
#include "worker/process/environment.h"
#include "worker/protocol/assignment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONTAINER_STORE "phased-image-"

struct list {
    char **items; /* ends with NULL */
    size_t count;
};

struct container {
    const struct assignment *assignment; /* borrowed */
    uv_loop_t *loop;
    enum container_runtime runtime;
    char *image, *store, *workdir;
    struct list mounts, names, exports;
    int owner; /* the locked file in the store; -1: no file */
};

/* Variables that hold for the file system of the node. The image has its own. */
static const char *const container_host_names[] = {
    "PATH",
    "LD_*",
    "HOME",
    "SHELL",
    "HOSTNAME",
    "PWD",
    "OLDPWD",
    "SHLVL",
    "_",
    "TMPDIR",
    "TMP",
    "TEMP",
    "BASH_ENV",
    "ENV",
    "PYTHONPATH",
    "PYTHONHOME",
    "VIRTUAL_ENV",
    "CONDA_*",
    "CUDA_HOME",
    "CUDA_PATH",
    "XDG_*",
    "DBUS_*",
    "LMOD*",
    "MODULE*",
    "CONTAINERS_*",
    "REGISTRY_AUTH_FILE",
    "ENROOT_*",
    "APPTAINER*",
    "SINGULARITY*",
    NULL,
};

static void list_add(struct list *list, char *item)
{
    list->items = xrealloc(list->items, (list->count + 2) * sizeof *list->items);
    list->items[list->count++] = item;
    list->items[list->count] = NULL;
}

static void list_fini(struct list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
}

/* --- The runtime ------------------------------------------------------------------------------ */

/* Takes the first runtime that is wanted, is installed and reads the image. */
static int container_choose(struct container *container, const char *wanted, const char *path,
                            struct error *err)
{
    struct text missing = {0};
    int i = CONTAINER_APPTAINER;
    for (; i <= CONTAINER_PODMAN; i++) {
        const char *name = container_runtime_name((enum container_runtime)i);
        bool is_wanted = text_equal(wanted, "auto") || text_equal(wanted, name);
        if (!is_wanted || !container_reads(name, container->image))
            continue;
        char *program = file_find_program(path, name);
        bool is_installed = program != NULL;
        free(program);
        if (is_installed)
            break;
        text_addf(&missing, "%s%s", missing.size ? ", " : "", name);
    }
    int status = 0;
    if (i <= CONTAINER_PODMAN)
        container->runtime = (enum container_runtime)i;
    else
        status = error_set_at(err, -EINVAL, "container.runtime", 0, 0,
                              missing.size ? "this node has no %s on PATH for the image %s"
                                           : "%sno allowed runtime reads the image %s",
                              text_string(&missing), container->image);
    text_fini(&missing);
    return status;
}

/* --- Folders and variables -------------------------------------------------------------------- */

/* Whether the path is in a folder that is mounted at the same place, and can be written. */
static bool container_has(const struct container *container, const char *path)
{
    for (size_t i = 0; i < container->mounts.count; i++) {
        const char *from = container->mounts.items[i], *to = strchr(from, ':') + 1;
        size_t size = (size_t)(to - from) - 1;
        if (strncmp(path, from, size) == 0 && (path[size] == '/' || !path[size]) &&
            strlen(to) == size && strncmp(from, to, size) == 0)
            return true;
    }
    return false;
}

/* Mounts a folder of the run at the same place. Takes over `path`. */
static int container_add_folder(struct container *container, char *path, struct error *err)
{
    int status = 0;
    if (!container_is_one_path(path))
        status = error_set_at(err, -EINVAL, "container", 0, 0,
                              "%s has a character that container runtimes do not allow", path);
    else if (*path == '/' && path[1] && !container_has(container, path))
        list_add(&container->mounts, text_format("%s:%s", path, path));
    free(path);
    return status;
}

static int container_add_inputs(struct container *container, struct error *err)
{
    const char *phase;
    json_t *input;
    int status = 0;
    json_object_foreach((json_t *)container->assignment->file.inputs, phase, input)
    {
        struct run_input left = run_input_read(input);
        if (status == 0 && left.out)
            status = container_add_folder(container, xstrdup(left.out), err);
        if (status == 0 && left.checkpoint)
            status = container_add_folder(container, file_parent(left.checkpoint), err);
    }
    return status;
}

static int container_add_mount(struct container *container, const char *mount,
                               const struct environment *environment, struct error *err)
{
    struct text text = {0};
    environment_expand(environment, mount, &text);
    char *line = text_steal(&text), *colon = strchr(line, ':');
    int status = 0;
    *colon = '\0'; /* the spec makes it FROM:TO */
    if (access(line, F_OK) < 0)
        status = error_set_at(err, -errno, "container.mounts", 0, 0, "cannot mount %s: %s", line,
                              strerror(errno));
    *colon = ':';
    if (status == 0)
        list_add(&container->mounts, line);
    else
        free(line);
    return status;
}

static int container_add_mounts(struct container *container, const json_t *mounts,
                                const struct environment *environment, struct error *err)
{
    const struct assignment *assignment = container->assignment;
    int status = container_add_folder(container, file_parent(assignment->file.run_dir), err);
    if (status == 0)
        status = container_add_folder(container, xstrdup(assignment->file.out_dir), err);
    if (status == 0 && assignment->resume)
        status = container_add_folder(container, file_parent(assignment->resume), err);
    if (status == 0 && container->workdir)
        status = container_add_folder(container, xstrdup(container->workdir), err);
    if (status == 0)
        status = container_add_inputs(container, err);
    for (size_t i = 0; i < json_array_size(mounts) && status == 0; i++)
        status = container_add_mount(container, json_string_value(json_array_get(mounts, i)),
                                     environment, err);
    return status;
}

/* Whether the name is not that of a function of bash. */
static bool container_is_plain(const char *name)
{
    return !name[text_name_size(name, "_")];
}

void container_move_env(const struct assignment *assignment, struct environment *environment)
{
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(assignment->spec, "env"), name, value)
    {
        const char *set = environment_get(environment, name);
        if (!set || !environment_is_of(name, container_host_names))
            continue;
        char *export = text_format(CONTAINER_EXPORT "%s", name);
        environment_set(environment, export, set);
        free(export);
        const json_t *captured = assignment->file.environment;
        const char *shell = json_string_value(json_object_get(captured, name));
        const char *host = rank_environment_is_of_job(name, captured) ? getenv(name) : NULL;
        if (!host && shell)
            host = secrets_value(assignment->secrets, name, shell);
        environment_unset(environment, name);
        if (host)
            environment_set(environment, name, host);
    }
}

static void container_add_exports(struct container *container,
                                  const struct environment *environment)
{
    const char *name;
    json_t *value;
    container->exports.items = xcalloc(1, sizeof *container->exports.items); /* an empty list */
    json_object_foreach(json_object_get(container->assignment->spec, "env"), name, value)
    {
        char *export = text_format(CONTAINER_EXPORT "%s", name);
        if (environment_is_of(name, container_host_names) && environment_get(environment, export))
            list_add(&container->exports, xstrdup(name));
        free(export);
    }
}

/* The variables that differ between ranks or groups are not set yet, so they are named here. */
static void container_add_names(struct container *container, const struct environment *environment)
{
    static const char *const own[] = {
        "RANK",
        "LOCAL_RANK",
        "GROUP_RANK",
        "TP_RANK",
        "PP_RANK",
        "DP_RANK",
        "PHASED_SHARD",
        "PHASED_SHARD_FILE",
        "PET_NNODES",
        "PET_NODE_RANK",
        "PET_NPROC_PER_NODE",
        "PET_MASTER_ADDR",
        "PET_MASTER_PORT",
        "SLURM_PROCID",
        "SLURM_LOCALID",
        "SLURM_NTASKS",
        "SLURM_NPROCS",
        "SLURM_NTASKS_PER_NODE",
        "SLURM_TASKS_PER_NODE",
        "CUDA_VISIBLE_DEVICES",
    };
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        list_add(&container->names, xstrdup(own[i]));
    for (size_t i = 0; i < environment->count; i++) {
        const char *entry = environment->entries[i];
        char *name = text_format("%.*s", (int)strcspn(entry, "="), entry);
        bool is_own = false;
        for (size_t k = 0; k < sizeof own / sizeof own[0]; k++)
            is_own |= text_equal(own[k], name);
        if (!is_own && container_is_plain(name) && !environment_is_of(name, container_host_names))
            list_add(&container->names, name);
        else
            free(name);
    }
}

/* --- The store -------------------------------------------------------------------------------- */

/* Images have folders that their owner may not write to. Slurm's TERM at the end of a job must not
 * end the removal. The file `owner` is removed last: by this file, container_sweep() knows what a
 * killed removal has left. */
static const char container_removal[] =
    "trap '' TERM; chmod -R u+rwX -- \"$0\"\n"
    "find \"$0\" -mindepth 1 -maxdepth 1 ! -name owner -exec rm -rf -- {} +\n"
    "exec rm -rf -- \"$0\"";

struct removal {
    struct child *child;
};

static void container_removed(void *context, const struct child_end *end)
{
    struct removal *removal = context;
    (void)end;
    child_close(removal->child);
    free(removal);
}

/* The loop does not end before the removal: when the last task of a job step has ended, Slurm kills
 * what is left. Slurm also kills an agent that stays too long. */
static void container_remove_store(uv_loop_t *loop, const char *store)
{
    struct removal *removal = xcalloc(1, sizeof *removal);
    char *const arguments[] = {"bash", "-c", (char *)container_removal, (char *)store, NULL};
    const struct child_options options = {
        .loop = loop,
        .kind = CHILD_OF_NOBODY,
        .program = "/bin/bash",
        .arguments = arguments,
        .out = {.output = CHILD_TEXT}, /* the end of the output is the end of the removal */
        .ended = container_removed,
        .context = removal,
    };
    removal->child = child_try(&options);
}

/* Removes what agents of this user have left on the node. The kernel unlocks the file of an agent
 * that has ended. */
static void container_sweep(uv_loop_t *loop, const char *base)
{
    DIR *folder = opendir(base);
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        struct stat stat;
        if (!text_starts(entry->d_name, CONTAINER_STORE))
            continue;
        char *store = text_format("%s/%s", base, entry->d_name);
        char *file = text_format("%s/owner", store);
        bool is_ours =
            lstat(store, &stat) == 0 && S_ISDIR(stat.st_mode) && stat.st_uid == geteuid();
        int owner = is_ours ? open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
        if (owner >= 0 && flock(owner, LOCK_EX | LOCK_NB) == 0)
            container_remove_store(loop, store);
        if (owner >= 0)
            close(owner);
        free(file);
        free(store);
    }
    if (folder)
        closedir(folder);
}

/* The file gets its name when it is locked, so container_sweep() never finds it unlocked. */
static int container_make_store(struct container *container, const char *base, struct error *err)
{
    char *store = text_format("%s/" CONTAINER_STORE "XXXXXX", base);
    if (!mkdtemp(store)) {
        int status =
            error_set_at(err, -errno, "container", 0, 0,
                         "cannot make a folder for the image in %s: %s", base, strerror(errno));
        free(store);
        return status;
    }
    container->store = store;
    char *made = text_format("%s/owner.new", store), *file = text_format("%s/owner", store);
    container->owner = open(made, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    int status = 0;
    if (container->owner < 0 || flock(container->owner, LOCK_EX) < 0 || rename(made, file) < 0)
        status = error_set_at(err, -errno, "container", 0, 0, "cannot write to %s: %s", store,
                              strerror(errno));
    free(made);
    free(file);
    return status;
}

/* --- Start and end ---------------------------------------------------------------------------- */

static int container_prepare(struct container *container, const json_t *spec,
                             struct environment *environment, struct error *err)
{
    const struct assignment *assignment = container->assignment;
    const char *image = json_string_value(json_object_get(spec, "image"));
    const char *wanted = json_string_value(json_object_get(spec, "runtime"));
    struct text text = {0};
    if (!image || !wanted)
        return error_set(err, -EINVAL, "spec: container has no image");
    environment_expand(environment, image, &text);
    container->image = text_steal(&text);
    if (assignment->workdir) {
        environment_expand(environment, assignment->workdir, &text);
        container->workdir = text_steal(&text);
    }
    container_move_env(assignment, environment);
    container_add_exports(container, environment);
    const char *base = environment_get(environment, "TMPDIR");
    if (!base || *base != '/')
        base = "/tmp";
    if (container->image[0] == '/' && access(container->image, R_OK) < 0)
        return error_set_at(err, -errno, "container.image", 0, 0, "cannot read %s: %s",
                            container->image, strerror(errno));
    int status = container_choose(container, wanted, environment_get(environment, "PATH"), err);
    if (status == 0)
        status = container_add_mounts(container, json_object_get(spec, "mounts"), environment, err);
    if (status < 0)
        return status;
    container_add_names(container, environment);
    container_sweep(container->loop, base);
    return container_make_store(container, base, err);
}

int container_new(const struct assignment *assignment, struct environment *environment,
                  uv_loop_t *loop, struct container **ret_container, struct error *err)
{
    const json_t *spec = json_object_get(assignment->spec, "container");
    *ret_container = NULL;
    if (!json_is_object(spec))
        return 0;
    struct container *container = xcalloc(1, sizeof *container);
    container->assignment = assignment;
    container->loop = loop;
    container->owner = -1;
    int status = container_prepare(container, spec, environment, err);
    if (status == 0)
        *ret_container = container;
    else
        container_free(container);
    return status;
}

char *container_start(const struct container *container, const char *script)
{
    const struct assignment *assignment = container->assignment;
    const struct container_order order = {
        .runtime = container->runtime,
        .image = container->image,
        .store = container->store,
        .mounts = (const char *const *)container->mounts.items,
        .names = (const char *const *)container->names.items,
        .exports = (const char *const *)container->exports.items,
        .workdir = container->workdir,
        .script = script,
        .stop_signal = assignment->stop_signal_name,
        .stop_number = assignment->stop_signal,
        .has_gpus = assignment->gpus && access("/dev/nvidiactl", F_OK) == 0,
        .has_fabric = access("/dev/infiniband", F_OK) == 0,
        .is_root = geteuid() == 0,
    };
    return container_script(&order);
}

bool container_is_podman(const struct container *container)
{
    return container->runtime == CONTAINER_PODMAN;
}

void container_remove(struct container *container)
{
    if (!container || !container->store)
        return;
    container_remove_store(container->loop, container->store);
    free(container->store);
    container->store = NULL;
    if (container->owner >= 0)
        close(container->owner); /* on NFS, an open file would keep the folder */
}

void container_free(struct container *container)
{
    if (!container)
        return;
    container_remove(container);
    list_fini(&container->mounts);
    list_fini(&container->names);
    list_fini(&container->exports);
    free(container->image);
    free(container->workdir);
    free(container);
}
