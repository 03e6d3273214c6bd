/* The commands of the container runtimes. Every function here depends on its arguments alone. */
#include "worker/node/container.h"

#include "lib/text.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const char *const runtime_names[] = {"apptainer", "enroot", "podman"};

enum { CONTAINER_EXIT_BY_SIGNAL = 128 }; /* plus the signal: the exit code of a shell */

const char *container_runtime_name(enum container_runtime runtime)
{
    return runtime_names[runtime];
}

/* Adds an option on a line of its own, and its value as one word. */
static void container_add(struct text *text, const char *option, const char *value)
{
    text_addf(text, " \\\n    %s", option);
    if (!value)
        return;
    text_add(text, " ");
    text_add_quoted(text, value);
}

static void container_add_path(struct text *text, const char *folder, const char *name)
{
    char *path = text_format("%s/%s", folder, name);
    text_add_quoted(text, path);
    free(path);
}

/* The name of an image without docker://. */
static const char *image_name(const char *image)
{
    return text_starts(image, "docker://") ? image + strlen("docker://") : image;
}

/* Adds the address of an image for enroot, which wants a `#` after the registry. The first part of
 * a name is a registry if it has a dot or a port. */
static void container_add_address(struct text *text, const char *image)
{
    const char *name = image_name(image), *slash = strchr(name, '/');
    size_t size = slash ? (size_t)(slash - name) : 0;
    bool has_registry = memchr(name, '.', size) || memchr(name, ':', size) ||
                        (size == strlen("localhost") && text_starts(name, "localhost"));
    char *address = has_registry ? text_format("docker://%.*s#%s", (int)size, name, slash + 1)
                                 : text_format("docker://%s", name);
    text_add_quoted(text, address);
    free(address);
}

/* Adds the function that puts the image into the store. It makes `part`, and then renames it, so
 * that no rank finds half an image. */
static void container_add_stage(struct text *text, const struct container_order *order,
                                const char *file)
{
    bool is_file = order->image[0] == '/';
    char *part = text_format("%s/part", order->store), *sqsh = text_format("%s/sqsh", order->store);
    text_add(text, "stage() {\n    ");
    if (order->runtime == CONTAINER_APPTAINER) {
        char *address = text_format("docker://%s", image_name(order->image));
        text_add(text, is_file ? "cp -- " : "apptainer pull ");
        text_add_quoted(text, is_file ? order->image : part);
        text_add(text, " ");
        text_add_quoted(text, is_file ? part : address);
        free(address);
    } else if (order->runtime == CONTAINER_ENROOT) {
        if (!is_file) {
            text_add(text, "enroot import --output ");
            text_add_quoted(text, sqsh);
            text_add(text, " ");
            container_add_address(text, order->image);
            text_add(text, "\n    ");
        }
        text_add(text, "enroot create --name part ");
        text_add_quoted(text, is_file ? order->image : sqsh);
        text_add(text, "\n    echo 'exec \"$@\"' >");
        container_add_path(text, order->store, "rc");
    } else if (is_file) {
        text_add(text, "podman load --quiet --input ");
        text_add_quoted(text, order->image);
        text_add(text, " | sed -n 's/^Loaded image.*: //p' >");
        text_add_quoted(text, part);
    } else {
        const char *name = image_name(order->image);
        text_add(text, "podman image exists ");
        text_add_quoted(text, name);
        text_add(text, " || podman pull --quiet ");
        text_add_quoted(text, name);
        text_add(text, "\n    echo ");
        text_add_quoted(text, name);
        text_add(text, " >");
        text_add_quoted(text, part);
    }
    text_add(text, "\n    mv -- ");
    text_add_quoted(text, part);
    text_add(text, " ");
    text_add_quoted(text, file);
    text_add(text, "\n}\n(\n    flock 9\n    [[ -e ");
    text_add_quoted(text, file);
    text_add(text, " ]] || stage 9>&-\n) 9>");
    container_add_path(text, order->store, "lock");
    text_add(text, "\n");
    free(part);
    free(sqsh);
}

/* Adds the bash in the container. A program that the script execs gets the signals itself. */
static void container_add_program(struct text *text, const struct container_order *order,
                                  const char *bash)
{
    struct text script = {0};
    /* Every user of the node can read the arguments of a process. A value may be a secret. */
    for (const char *const *name = order->exports; *name; name++)
        text_addf(&script, "export %s=\"$" CONTAINER_EXPORT "%s\"; unset " CONTAINER_EXPORT "%s\n",
                  *name, *name, *name);
    if (order->workdir) {
        text_add(&script, "cd -- ");
        text_add_quoted(&script, order->workdir);
        text_add(&script, "\n");
    }
    if (order->stop_number != SIGTERM)
        text_add(&script, "trap '' TERM\n");
    /* A bash with a trap for its exit does not pass the signal on (processes_choose()). */
    text_addf(&script, "trap : EXIT\ntrap 'exit %d' %s\n. \"$0\"",
              CONTAINER_EXIT_BY_SIGNAL + order->stop_number, order->stop_signal);
    text_addf(text, "%s-eu -o pipefail -c ", bash);
    text_add_quoted(text, text_string(&script));
    text_add(text, " ");
    text_add_quoted(text, order->script);
    text_add(text, "\n");
    text_fini(&script);
}

static void container_add_apptainer(struct text *text, const struct container_order *order,
                                    const char *file)
{
    text_add(text, "exec apptainer exec");
    if (order->has_gpus)
        container_add(text, "--nv", NULL);
    for (const char *const *mount = order->mounts; *mount; mount++)
        container_add(text, "--bind", *mount);
    text_add(text, " \\\n    ");
    text_add_quoted(text, file);
    container_add_program(text, order, " bash ");
}

static void container_add_enroot(struct text *text, const struct container_order *order)
{
    text_add(text, "exec enroot start");
    container_add(text, "--rc", NULL);
    text_add(text, " ");
    container_add_path(text, order->store, "rc");
    for (const char *const *mount = order->mounts; *mount; mount++) {
        bool is_read_only = text_ends(*mount, ":ro");
        int size = (int)(strlen(*mount) - (is_read_only ? strlen(":ro") : 0));
        char *line =
            text_format("%.*s:none:x-create=auto,rbind%s", size, *mount, is_read_only ? ",ro" : "");
        container_add(text, "--mount", line);
        free(line);
    }
    for (const char *const *name = order->names; *name; name++)
        container_add(text, "--env", *name);
    container_add_program(text, order, " \\\n    image bash ");
}

/* podman uses the process namespace of the node: CUDA shares memory between processes only if their
 * numbers differ, and a first process of a namespace ignores signals that it does not handle. */
static void container_add_podman(struct text *text, const struct container_order *order,
                                 const char *file)
{
    text_add(text, "exec podman --cgroup-manager=cgroupfs run --rm --log-driver=none \\\n"
                   "    --network=host --ipc=host --uts=host --pid=host");
    if (!order->is_root)
        container_add(text, "--userns=keep-id", NULL);
    container_add(text, "--security-opt label=disable", NULL);
    if (order->has_gpus)
        container_add(text, "--device nvidia.com/gpu=all", NULL);
    if (order->has_fabric)
        container_add(text, "--device /dev/infiniband", NULL);
    for (const char *const *mount = order->mounts; *mount; mount++)
        container_add(text, "--volume", *mount);
    for (const char *const *name = order->names; *name; name++)
        container_add(text, "--env", *name);
    container_add(text, "--entrypoint bash", NULL);
    text_add(text, " \"$(<");
    text_add_quoted(text, file);
    container_add_program(text, order, ")\" \\\n    ");
}

char *container_script(const struct container_order *order)
{
    struct text text = {0};
    char *file = text_format("%s/image", order->store);
    if (order->runtime == CONTAINER_ENROOT) {
        text_add(&text, "export ENROOT_DATA_PATH=");
        text_add_quoted(&text, order->store);
        text_add(&text, "\n");
    }
    if (order->runtime == CONTAINER_ENROOT && order->has_gpus)
        text_add(&text, "export NVIDIA_VISIBLE_DEVICES=all "
                        "NVIDIA_DRIVER_CAPABILITIES=compute,utility\n");
    container_add_stage(&text, order, file);
    if (order->runtime == CONTAINER_APPTAINER)
        container_add_apptainer(&text, order, file);
    else if (order->runtime == CONTAINER_ENROOT)
        container_add_enroot(&text, order);
    else
        container_add_podman(&text, order, file);
    free(file);
    return text_steal(&text);
}
