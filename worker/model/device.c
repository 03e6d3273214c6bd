/* Looks for GPUs by the device files of NVIDIA's driver, because phase-model has no library that
 * could ask for them. */
#include "worker/model/device.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "lib/place.h"
#include "lib/text.h"
#include "worker/model/ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEVICES_MAX = 64 };

#ifdef KERNELS_CUDA
int device_choose(const char *wish, char **arguments, struct error *err)
{
    (void)arguments;
    if (text_equal(wish, "auto") || text_equal(wish, "cuda"))
        return 0;
    if (text_equal(wish, "cpu"))
        return error_set(err, -ERANGE,
                         "--device cpu: phase-model computes on CPUs, this program "
                         "does not");
    return error_set(err, -ERANGE, "--device %s: use auto, cpu or cuda", wish);
}
#else
/* Whether the driver has a GPU, and CUDA_VISIBLE_DEVICES does not hide all GPUs. */
static bool has_gpu(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES"), *folder = getenv("PHASED_DEV");
    if (visible && (!*visible || *visible == '-'))
        return false;
    for (int i = 0; i < DEVICES_MAX; i++) {
        char path[4096];
        (void)snprintf(path, sizeof path, "%s/nvidia%d", folder ? folder : "/dev", i);
        if (access(path, R_OK | W_OK) == 0)
            return true;
    }
    return false;
}

/* Whether the program starts. ld.so does not start it if a library of CUDA is missing. */
static bool starts(const char *program)
{
    char *arguments[] = {(char *)(uintptr_t)program, (char *)(uintptr_t) "--version", NULL};
    posix_spawn_file_actions_t silent;
    pid_t child;
    int status = -1;
    if (posix_spawn_file_actions_init(&silent) != 0)
        return false;
    bool is_started =
        posix_spawn_file_actions_addopen(&silent, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
        posix_spawn(&child, program, &silent, NULL, arguments, environ) == 0;
    (void)posix_spawn_file_actions_destroy(&silent); /* cannot fail on Linux */
    while (is_started && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return is_started && status == 0;
}

int device_choose(const char *wish, char **arguments, struct error *err)
{
    bool is_auto = text_equal(wish, "auto");
    if (text_equal(wish, "cpu"))
        return 0;
    if (!is_auto && !text_equal(wish, "cuda"))
        return error_set(err, -ERANGE, "--device %s: use auto, cpu or cuda", wish);
    const char *named = getenv("PHASED_MODEL_GPU");
    char *program = named ? xstrdup(named) : place_program("phase-model-gpu");
    bool is_there = access(program, X_OK) == 0;
    int status = 0;
    if (is_auto && is_there && has_gpu() && !starts(program)) {
        fprintf(stderr, "phase-model: computes on the CPU, because %s does not start\n", program);
        is_there = false;
    }
    if (!is_there && !is_auto) {
        status =
            error_set(err, -ENOENT, "--device cuda: %s is missing (built without CUDA)", program);
    } else if (is_there && (!is_auto || has_gpu())) {
        arguments[0] = program;
        (void)execv(program, arguments); /* returns only on failure */
        status = error_set(err, -errno, "could not start %s: %s", program, strerror(errno));
    }
    free(program);
    return status;
}
#endif

int device_number(struct error *err)
{
    const char *local = getenv("LOCAL_RANK");
    char *end;
    if (!local)
        return 0;
    errno = 0;
    long number = strtol(local, &end, 10);
    if (errno || end == local || *end || number < 0 || number >= RANKS_MAX)
        return error_set(err, -EINVAL, "LOCAL_RANK is '%s', not the number of a process of a node",
                         local);
    return (int)number;
}
