/* A child reads NVML and writes the facts into a pipe. The parent waits for them until the
 * deadline. */
#include "worker/preflight/driver.h"

#include "lib/clock.h"
#include "lib/file.h"
#include "worker/preflight/facts.h"
#include "worker/preflight/gpus.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that hangs in the kernel lives longer than this program. Somebody reads the report from a
 * pipe, and the child must not keep this pipe open. The output of the driver's library must not get
 * into the report. */
static void driver_leave_outputs(void)
{
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
        if (nowhere < 0 || dup2(nowhere, i) < 0)
            close(i);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* best effort: the parent has the deadline */
}

/* Reads the facts. Returns whether all of them came before `deadline_ms` of the steady clock. */
static bool driver_receive(int input, int64_t deadline_ms, struct facts *facts)
{
    char *bytes = (char *)facts;
    for (size_t done = 0; done < sizeof *facts;) {
        int64_t left_ms = deadline_ms - clock_steady_ms();
        struct pollfd wait = {.fd = input, .events = POLLIN};
        if (left_ms <= 0)
            return false;
        int ready = poll(&wait, 1, (int)left_ms);
        if (ready < 0 && errno != EINTR)
            return false;
        if (ready <= 0)
            continue;
        ssize_t size = read(input, bytes + done, sizeof *facts - done);
        if (size <= 0)
            return false;
        done += (size_t)size;
    }
    return true;
}

static void driver_trouble(struct facts *facts, enum facts_driver driver, const char *why)
{
    facts->driver = driver;
    (void)snprintf(facts->driver_trouble, sizeof facts->driver_trouble, "%s", why);
}

void driver_read(const char *nvml_path, int deadline_ms, struct facts *facts)
{
    int pipe_ends[2];
    struct facts answer = *facts;
    if (pipe2(pipe_ends, O_CLOEXEC) < 0) {
        driver_trouble(facts, FACTS_DRIVER_ABSENT, "cannot make a pipe to ask the driver");
        return;
    }
    pid_t child = fork();
    if (child < 0) {
        close(pipe_ends[0]);
        close(pipe_ends[1]);
        driver_trouble(facts, FACTS_DRIVER_ABSENT, "cannot start a process to ask the driver");
        return;
    }
    if (child == 0) {
        driver_leave_outputs();
        gpus_find(nvml_path, &answer);
        /* The parent notices missing bytes. */
        (void)file_write(pipe_ends[1], (const char *)&answer, sizeof answer);
        _exit(0);
    }
    close(pipe_ends[1]);
    int64_t start_ms = clock_steady_ms();
    bool is_whole = driver_receive(pipe_ends[0], start_ms + deadline_ms, &answer);
    close(pipe_ends[0]);
    if (is_whole) {
        *facts = answer;
        (void)waitpid(child, NULL, 0); /* the child only has to end */
        return;
    }
    if (clock_steady_ms() - start_ms < deadline_ms) {
        driver_trouble(facts, FACTS_DRIVER_FAILS, "the process that asks the driver ended early");
    } else {
        (void)kill(child, SIGKILL); /* has no effect if the child hangs in the kernel, so ... */
        driver_trouble(facts, FACTS_DRIVER_SILENT, "no answer in time");
    }
    (void)waitpid(child, NULL, WNOHANG); /* ... this does not wait for it */
}
