/* Tries the configuration in a separate process, the checker, because a bad one ends the
 * process. */
#include "daemon/slurm/configuration.h"

#include "daemon/slurm/versions.h"
#include "lib/error.h"
#include "lib/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Sites without a slurm.conf on the login node fetch it from the controller, which they find by
 * DNS. */
enum { CONFIGURATION_WAIT_MS = 15000, COMPLAINT_SIZE = 4096 };

static int file_check(struct error *err)
{
    const char *path = getenv("SLURM_CONF");
    if (!path || access(path, R_OK) == 0)
        return 0;
    return error_set(err, -ENOENT,
                     "cannot read Slurm's configuration %s, which SLURM_CONF names: %s", path,
                     strerror(errno));
}

static int64_t clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Reads the checker's output until the checker ends. False: the checker took too long. */
static bool complaint_read(int pipe, char *buffer, size_t size)
{
    int64_t deadline = clock_ms() + CONFIGURATION_WAIT_MS;
    size_t used = 0;
    for (;;) {
        int64_t left = deadline - clock_ms();
        struct pollfd poll_pipe = {.fd = pipe, .events = POLLIN};
        int ready = left > 0 ? poll(&poll_pipe, 1, (int)left) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return false;
        /* When the buffer is full it starts again: the reason is in the last lines. */
        if (used == size - 1)
            used = 0;
        ssize_t got = read(pipe, buffer + used, size - 1 - used);
        if (got <= 0)
            break;
        used += (size_t)got;
    }
    buffer[used] = '\0';
    return true;
}

/* Returns the last line, without the name of the program. A closing "fatal:" line is skipped, since
 * it only says that the program failed. */
static const char *complaint_reason(char *complaint)
{
    const char *reason = "it says nothing";
    char *rest = complaint;
    for (char *line; (line = strsep(&rest, "\n"));) {
        char *error = strstr(line, "error: ");
        char *fatal = strstr(line, "fatal: ");
        if (error)
            reason = error + strlen("error: ");
        else if (fatal && strcmp(reason, "it says nothing") == 0)
            reason = fatal + strlen("fatal: ");
    }
    return reason;
}

/* Starts the checker with its standard error in the pipe and no signal blocked: the calling thread
 * may block signals. */
static int checker_start(const char *checker, int pipe, pid_t *ret_pid)
{
    char *arguments[] = {(char *)checker, (char *)"--check-slurm", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    /* These calls fail only without memory, and then posix_spawn() fails too. */
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, pipe, STDERR_FILENO);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    int result = posix_spawn(ret_pid, checker, &actions, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return -result;
}

struct configuration_version configuration_version(const char *file)
{
    struct stat status;
    if (!file || stat(file, &status) < 0)
        return (struct configuration_version){0};
    return (struct configuration_version){
        .file = status.st_ino, .size = status.st_size, .time = status.st_mtim};
}

bool configuration_version_equal(const struct configuration_version *a,
                                 const struct configuration_version *b)
{
    return a->file == b->file && a->size == b->size && a->time.tv_sec == b->time.tv_sec &&
           a->time.tv_nsec == b->time.tv_nsec;
}

int configuration_check(const char *checker, struct error *err)
{
    int pipes[2], status = 0;
    char complaint[COMPLAINT_SIZE];
    int result = file_check(err);
    if (result < 0)
        return result;
    if (pipe2(pipes, O_CLOEXEC) < 0)
        return error_set(err, -errno, "could not make a pipe: %s", strerror(errno));
    pid_t child;
    result = checker_start(checker, pipes[1], &child);
    (void)close(pipes[1]); /* nothing was written to it */
    if (result < 0) {
        (void)close(pipes[0]);
        return error_set(err, result, "could not run %s: %s", checker, strerror(-result));
    }
    bool has_ended = complaint_read(pipes[0], complaint, sizeof complaint);
    if (!has_ended)
        (void)kill(child, SIGKILL); /* the process id is valid until waitpid() */
    (void)close(pipes[0]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (!has_ended)
        return error_set(err, -ETIMEDOUT, "could not read Slurm's configuration within %d s",
                         CONFIGURATION_WAIT_MS / 1000);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    const char *reason = complaint_reason(complaint);
    if (strstr(reason, "_establish_config_source"))
        return error_set(err, -EINVAL,
                         "no slurm.conf was found and no controller gave one: set SLURM_CONF, or "
                         "start a private Slurm with "
                         "`phasectl sandbox start` (Slurm says: %s)",
                         reason);
    return error_set(err, -EINVAL, "cannot use Slurm's configuration: %s", reason);
}

char *configuration_read(void)
{
    const char *given = getenv("SLURM_CONF");
    char *kept = xstrdup_or_null(given);
    slurm_init(NULL);
    /* libslurm has put the file that it found into the environment. */
    const char *found = getenv("SLURM_CONF");
    char *file = xstrdup_or_null(found);
    if ((kept ? setenv("SLURM_CONF", kept, 1) : unsetenv("SLURM_CONF")) < 0)
        abort(); /* no memory */
    free(kept);
    return file;
}

const char *configuration_release(char buffer[CONFIGURATION_RELEASE_SIZE])
{
    (void)snprintf(buffer, CONFIGURATION_RELEASE_SIZE, "%d.%02d.%d", SLURM_VERSION_NUMBER >> 16,
                   SLURM_VERSION_NUMBER >> 8 & 0xff, SLURM_VERSION_NUMBER & 0xff); /* fits */
    return buffer;
}
