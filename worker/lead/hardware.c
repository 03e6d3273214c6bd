/* Asking for the GPU. Both who are asked are programs, since a driver may never answer: one that
 * stays in the kernel is left behind. */
#include "worker/lead/hardware.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/spec/overlay.h"
#include "lib/text.h"
#include "worker/clock.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    HARDWARE_DRIVER_MS = 10000, /* an idle GPU without persistence mode takes seconds to wake */
    HARDWARE_SLURM_MS = 10000,
    HARDWARE_FILE_MAX = 65536,
};

/* --- Programs --------------------------------------------------------------------------------- */

/* Starts the program with its output in the pipe that *ret_fd reads; its pid, or a negative errno.
 */
static pid_t hardware_spawn(char *const *arguments, int *ret_fd)
{
    int ends[2];
    pid_t pid = -1;
    posix_spawn_file_actions_t actions;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    int result = posix_spawn_file_actions_init(&actions);
    if (result == 0)
        result = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (result == 0)
        result = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (result == 0)
        result = posix_spawnp(&pid, arguments[0], &actions, NULL, arguments, environ);
    (void)posix_spawn_file_actions_destroy(&actions); /* frees memory, no more */
    close(ends[1]);
    if (result != 0) {
        close(ends[0]);
        return -result;
    }
    *ret_fd = ends[0];
    return pid;
}

/* What it prints until it ends or the time is over; the caller's to free(). */
static char *hardware_ask(char *const *arguments, int64_t limit_ms)
{
    struct text output = {0};
    int64_t until_ms = clock_steady_ms() + limit_ms, left_ms;
    int fd = -1;
    pid_t pid = hardware_spawn(arguments, &fd);
    if (pid < 0)
        return text_steal(&output);
    while ((left_ms = until_ms - clock_steady_ms()) > 0 && output.size < HARDWARE_FILE_MAX) {
        struct pollfd input = {.fd = fd, .events = POLLIN};
        char bytes[4096];
        if (poll(&input, 1, (int)left_ms) <= 0)
            continue;
        ssize_t size = read(fd, bytes, sizeof bytes);
        if (size <= 0)
            break;
        text_add_bytes(&output, bytes, (size_t)size);
    }
    close(fd);
    (void)kill(pid, SIGKILL);                           /* it may have ended */
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) /* what is detached is not its own child */
        continue;
    return text_steal(&output);
}

/* --- The driver ------------------------------------------------------------------------------- */

/* The line of `phase-worker gpus` that says which there are; the caller's, or NULL. */
static json_t *hardware_devices(const char *output)
{
    for (const char *line = output; line && *line;) {
        size_t size = strcspn(line, "\n");
        json_t *json = json_loadb(line, size, 0, NULL);
        json_t *devices = json_incref(json_object_get(json, "devices"));
        json_decref(json);
        if (devices)
            return devices;
        line += size + (line[size] == '\n');
    }
    return NULL;
}

/* All GPUs of a node are alike, or nearly always: the first tells of all. */
static json_t *hardware_from_driver(void)
{
    char *const arguments[] = {"/proc/self/exe", "gpus", "--detach", "--seconds", "1", NULL};
    char *output = hardware_ask(arguments, HARDWARE_DRIVER_MS);
    json_t *devices = hardware_devices(output), *found = NULL;
    const json_t *model = json_array_get(json_object_get(devices, "models"), 0);
    const json_t *mib = json_array_get(json_object_get(devices, "memory_mib"), 0);
    json_t *gib = json_is_integer(mib) ? json_real((double)json_integer_value(mib) / 1024) : NULL;
    if (json_is_string(model))
        found = json_pack("{s:s, s:o?, s:s}", "model", json_string_value(model), "memory_gib", gib,
                          "source", "driver");
    else
        json_decref(gib);
    json_decref(devices);
    free(output);
    return found;
}

/* --- Slurm ------------------------------------------------------------------------------------ */

char *hardware_slurm_type(const char *description)
{
    static const char key[] = " GRES=gpu:"; /* of the first node; JOB_GRES lists all */
    const char *type = strstr(description, key);
    if (!type)
        return NULL;
    type += strlen(key);
    size_t size = strcspn(type, ":(, \n");
    bool is_count = strspn(type, "0123456789") == size;
    return is_count || type[size] != ':' ? NULL : text_format("%.*s", (int)size, type);
}

static json_t *hardware_from_slurm(int64_t job_id)
{
    char *job = text_format("%lld", (long long)job_id);
    char *const arguments[] = {"scontrol", "--details", "show", "job", job, NULL};
    char *output = hardware_ask(arguments, HARDWARE_SLURM_MS);
    char *type = hardware_slurm_type(output);
    json_t *found =
        type ? json_pack("{s:s, s:n, s:s}", "model", type, "memory_gib", "source", "slurm") : NULL;
    free(type);
    free(output);
    free(job);
    return found;
}

/* --- All -------------------------------------------------------------------------------------- */

int hardware_settle(const char *run_dir, const json_t *spec, int64_t job_id, struct error *err)
{
    json_t *found = hardware_from_driver();
    if (!found && job_id > 0)
        found = hardware_from_slurm(job_id);
    if (!found)
        found = json_pack("{s:n, s:n, s:n}", "model", "memory_gib", "source");
    const struct overlay_gpu gpu = {
        .model = json_string_value(json_object_get(found, "model")),
        .memory_gib = json_number_value(json_object_get(found, "memory_gib")),
    };
    const char *name = overlay_choose(spec, &gpu);
    (void)json_object_set_new(found, "by_gpu", name ? json_string(name) : json_null());
    char *path = text_format("%s/hardware.json", run_dir);
    char *text = json_dumps(found, JSON_REAL_PRECISION(6));
    if (!text)
        abort();
    int result = file_replace(path, text, strlen(text), 0600, err);
    free(text);
    free(path);
    json_decref(found);
    return result;
}
