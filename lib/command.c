/* Standard input, output and error are anonymous files, so the program never waits for its reader.
 */
#include "lib/command.h"

#include "lib/clock.h"
#include "lib/error.h"
#include "lib/file.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    COMMAND_POLL_MS = 16, /* the longest pause between two looks; the first is 1 ms */
    COMMAND_READ = 65536,
    COMMAND_OUTPUT_MAX = 64 * 1024 * 1024, /* bytes: the files are in memory */
};

/* Makes the three files. The first has the input. */
static int command_files(const char *input, int files[COMMAND_FILES], struct error *err)
{
    int status = 0;
    for (size_t i = 0; i < COMMAND_FILES; i++) {
        const char *data = i == 0 && input ? input : "";
        files[i] = file_in_memory(data, strlen(data), err);
        status = files[i] < 0 ? files[i] : status;
    }
    return status;
}

int command_start(const char *const *words, const int files[COMMAND_FILES], bool has_own_group,
                  pid_t *ret_pid, struct error *err)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t defaults, none;
    (void)sigemptyset(&none); /* these fail only without memory, and then the start fails */
    (void)sigemptyset(&defaults);
    (void)sigaddset(&defaults, SIGPIPE);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setflags(&attributes,
                                   (short)(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                           (has_own_group ? POSIX_SPAWN_SETPGROUP : 0)));
    (void)posix_spawnattr_setsigdefault(&attributes, &defaults);
    (void)posix_spawnattr_setsigmask(&attributes, &none); /* a thread may block signals */
    for (int i = 0; i < COMMAND_FILES; i++)
        if (files[i] >= 0)
            (void)posix_spawn_file_actions_adddup2(&actions, files[i], i);
    int failure =
        posix_spawnp(ret_pid, words[0], &actions, &attributes, (char *const *)words, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    if (failure)
        return error_set(err, -failure, "cannot run %s: %s", words[0], strerror(failure));
    return 0;
}

static bool command_is_too_long(const int files[COMMAND_FILES])
{
    struct stat out, err; /* fstat() cannot fail for open files */
    return fstat(files[1], &out) == 0 && fstat(files[2], &err) == 0 &&
           (out.st_size > COMMAND_OUTPUT_MAX || err.st_size > COMMAND_OUTPUT_MAX);
}

/* Waits for the end of the program. Kills it at the deadline, or if it prints too much. */
static int command_wait(const char *name, pid_t pid, const int files[COMMAND_FILES],
                        unsigned seconds, int *ret_exit_code, struct error *err)
{
    struct timespec pause = {.tv_nsec = 1000000};
    int64_t deadline_ms = clock_steady_ms() + (int64_t)seconds * 1000;
    int status = 0;
    pid_t ended;
    bool is_too_long = false;
    while ((ended = waitpid(pid, &status, WNOHANG)) == 0 && clock_steady_ms() <= deadline_ms &&
           !is_too_long) {
        (void)nanosleep(&pause, NULL);
        if (pause.tv_nsec < COMMAND_POLL_MS * 1000000)
            pause.tv_nsec *= 2;
        is_too_long = command_is_too_long(files);
    }
    if (ended == 0) {
        (void)kill(-pid, SIGKILL); /* it has not been waited for, so the number is still its own */
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            continue;
        if (is_too_long)
            return error_set(err, -EFBIG, "%s printed more than %d MiB", name,
                             COMMAND_OUTPUT_MAX >> 20);
        return error_set(err, -ETIMEDOUT, "%s did not end within %u s", name, seconds);
    }
    *ret_exit_code = ended == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return 0;
}

static void command_take(int file, struct text *text)
{
    char buffer[COMMAND_READ];
    ssize_t size;
    off_t at = 0;
    while ((size = pread(file, buffer, sizeof buffer, at)) > 0) {
        text_add_bytes(text, buffer, (size_t)size);
        at += size;
    }
}

int command_run(const char *const *words, const char *input, unsigned seconds,
                struct command_result *ret_result, struct error *err)
{
    int files[COMMAND_FILES];
    pid_t pid;
    *ret_result = (struct command_result){0};
    int status = command_files(input, files, err);
    if (status == 0)
        status = command_start(words, files, true, &pid, err);
    if (status == 0)
        status = command_wait(words[0], pid, files, seconds, &ret_result->exit_code, err);
    if (status == 0) {
        command_take(files[1], &ret_result->out);
        command_take(files[2], &ret_result->err);
    }
    for (size_t i = 0; i < COMMAND_FILES; i++)
        if (files[i] >= 0)
            (void)close(files[i]);
    return status;
}

void command_fini(struct command_result *result)
{
    text_fini(&result->out);
    text_fini(&result->err);
}

char *command_complaint(const struct command_result *result)
{
    const char *said = text_string(&result->err);
    said += strspn(said, " \n");
    return text_format("%.*s", (int)strcspn(said, "\n"), said);
}

int command_ask(const char *const *words, unsigned seconds, struct command_result *ret_result,
                struct error *err)
{
    int status = command_run(words, NULL, seconds, ret_result, err);
    if (status == 0 && ret_result->exit_code != 0) {
        char *said = command_complaint(ret_result);
        status = error_set(err, -EIO, *said ? "%s" : "%s failed", *said ? said : words[0]);
        free(said);
        command_fini(ret_result);
    }
    return status;
}
