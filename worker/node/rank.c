/* fork() and exec of a rank. Between the two only what is safe in a process of several threads is
 * called; what goes wrong there comes back through a pipe that a successful exec closes. */
#include "worker/node/rank.h"

#include "lib/error.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum rank_step { RANK_WORKDIR, RANK_OUTPUT, RANK_EXEC };

struct rank_failure {
    int number; /* errno */
    enum rank_step step;
};

static const char rank_shell[] = "/bin/bash";

/* Signal handlers and masks of the agent are not the program's business. */
static void rank_reset_signals(bool ignores_term)
{
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL); /* some cannot be set, and need not be */
    if (ignores_term)
        (void)signal(SIGTERM, SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Runs in the child; returns only when it fails. */
static struct rank_failure rank_exec(const struct rank_start *start, char *const *argv, int null,
                                     int output)
{
    (void)setsid(); /* cannot fail in a new process */
    /* The agent's death must not leave a program on the GPUs. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    rank_reset_signals(start->ignores_term);
    if (start->umask >= 0)
        (void)umask((mode_t)start->umask);
    if (dup2(null, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
        dup2(output, STDERR_FILENO) < 0)
        return (struct rank_failure){errno, RANK_OUTPUT};
    if (start->workdir && chdir(start->workdir) < 0)
        return (struct rank_failure){errno, RANK_WORKDIR};
    execve(rank_shell, argv, start->environment);
    return (struct rank_failure){errno, RANK_EXEC};
}

static int rank_explain(const struct rank_start *start, struct rank_failure failure,
                        struct error *err)
{
    const char *reason = strerror(failure.number);
    if (failure.step == RANK_WORKDIR)
        return error_set_at(err, -failure.number, "workdir", 0, 0, "cannot enter %s: %s",
                            start->workdir, reason);
    if (failure.step == RANK_EXEC)
        return error_set(err, -failure.number, "cannot execute %s: %s", rank_shell, reason);
    return error_set(err, -failure.number, "cannot set up the output of a rank: %s", reason);
}

static void rank_close(int fd)
{
    if (fd >= 0)
        close(fd);
}

int rank_spawn(const struct rank_start *start, pid_t *ret_pid, int *ret_output, struct error *err)
{
    int output[2] = {-1, -1}, failures[2] = {-1, -1}, null = -1, result = 0;
    char *const argv[] = {"bash", "-eu", "-o", "pipefail", (char *)start->script, NULL};
    null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0 || pipe2(output, O_CLOEXEC) < 0 || pipe2(failures, O_CLOEXEC) < 0) {
        result = error_set(err, -errno, "could not make a pipe for a rank: %s", strerror(errno));
        goto out;
    }
    pid_t pid = fork();
    if (pid < 0) {
        result = error_set(err, -errno, "could not start a process: %s", strerror(errno));
        goto out;
    }
    if (pid == 0) {
        struct rank_failure failure = rank_exec(start, argv, null, output[1]);
        (void)!write(failures[1], &failure, sizeof(failure)); /* the exit status says it too */
        _exit(127);
    }
    rank_close(failures[1]);
    failures[1] = -1;
    struct rank_failure failure;
    ssize_t size;
    do {
        size = read(failures[0], &failure, sizeof(failure));
    } while (size < 0 && errno == EINTR);
    if (size == (ssize_t)sizeof(failure)) {
        (void)waitpid(pid, NULL, 0); /* it has ended */
        result = rank_explain(start, failure, err);
        goto out;
    }
    *ret_pid = pid;
    *ret_output = output[0];
    output[0] = -1;
out:
    rank_close(null);
    rank_close(output[0]);
    rank_close(output[1]);
    rank_close(failures[0]);
    rank_close(failures[1]);
    return result;
}
