/* Without a terminal, no signal reaches the host. So the input of ssh is a pipe that we hold open.
 * The end of the pipe tells the host that we were interrupted, killed or cut off. */
#include "cli/remote/session.h"

#include "cli/remote/command.h"
#include "cli/remote/connection.h"
#include "lib/error.h"
#include "lib/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SESSION_LOST = 255 }; /* of ssh; a program on the host may exit with it, too */

/* The script and its children have the process group of the session, so 0 means all of them. Bash
 * starts what is in the background with SIGINT ignored. */
static const char session_watch[] = "exec 4<&0 </dev/null\n"
                                    "{ cat; kill -INT 0; } <&4 >/dev/null 2>&1 &\n"
                                    "exec 4<&-\n";

/* The signals that a session waits for. They are blocked while it runs, so that no signal is
 * missed. SIGHUP is left out if nohup(1) ignores it: a blocked signal would come although it is
 * ignored. */
static sigset_t session_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGCHLD};
    struct sigaction hangup;
    sigset_t set;
    (void)sigemptyset(&set); /* these cannot fail for these signals */
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        (void)sigaddset(&set, signals[i]);
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
        (void)sigaddset(&set, SIGHUP);
    return set;
}

/* Waits for ssh. A signal closes the pipe `hold`, and the script may still end in its own way. If
 * there is no pipe, or when the next signal comes, ssh ends. Returns the exit code of ssh. */
static int session_wait(pid_t pid, int hold, bool *ret_is_interrupted)
{
    sigset_t signals = session_signals();
    int status;
    pid_t ended;
    *ret_is_interrupted = false;
    while ((ended = waitpid(pid, &status, WNOHANG)) == 0) {
        int number = sigwaitinfo(&signals, NULL);
        if (number < 0 || number == SIGCHLD)
            continue;
        *ret_is_interrupted = true;
        if (hold < 0)
            (void)kill(pid, SIGTERM);
        else
            (void)close(hold);
        hold = -1;
    }
    if (hold >= 0)
        (void)close(hold);
    return ended < 0 ? SESSION_LOST : connection_exit_code(status);
}

/* Says what the exit code of ssh means. */
static int session_result(const struct connection *connection, int status, bool is_interrupted,
                          struct error *err)
{
    if (is_interrupted && status > 128)
        return 128 + SIGINT;
    if (status == SESSION_LOST && !connection_is_alive(connection))
        return error_set(err, -EPIPE,
                         "the connection to %s was lost; phased goes on there: look with `phasectl "
                         "status` before you call the verb again",
                         connection->login);
    return status;
}

int session_run(const struct connection *connection, const char *script, char *const *words,
                enum session_input input, struct error *err)
{
    bool is_held = input == SESSION_NOTHING, is_interrupted = false;
    int ends[2] = {-1, -1};
    pid_t pid;
    if (is_held && pipe2(ends, O_CLOEXEC) < 0)
        return error_set(err, -errno, "could not make a pipe: %s", strerror(errno));
    char *whole = text_format("%s%s", is_held ? session_watch : "", script);
    char *remote = remote_command(whole, words);
    char *command = connection_command(connection, input == SESSION_TERMINAL ? "-t" : "-T", remote);
    sigset_t signals = session_signals(), before;
    (void)sigprocmask(SIG_BLOCK, &signals, &before); /* cannot fail with these arguments */
    int status = connection_start(command, ends[0], -1, is_held, &pid, err);
    if (ends[0] >= 0)
        (void)close(ends[0]);
    if (status == 0)
        status = session_wait(pid, ends[1], &is_interrupted);
    else if (is_held)
        (void)close(ends[1]);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    free(command);
    free(remote);
    free(whole);
    return status < 0 ? status : session_result(connection, status, is_interrupted, err);
}

int session_send(const struct connection *connection, const char *script, char *const *words,
                 int input, struct error *err)
{
    pid_t pid;
    char *remote = remote_command(script, words);
    char *command = connection_command(connection, "-T", remote);
    int status = connection_start(command, input, STDERR_FILENO, false, &pid, err);
    free(command);
    free(remote);
    if (status == 0)
        status = connection_wait(pid);
    return status < 0 ? status : session_result(connection, status, false, err);
}
