/* The process between Slurm and the agent. */
#include "worker/node/task.h"

#include "lib/error.h"
#include "lib/place.h"
#include "worker/process/processes.h"
#include "worker/protocol/orphan.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs in the agent's process. Returns only on failure. */
static void task_become_agent(const char *job_dir, int socket, pid_t heir)
{
    char *program = place_self(), place[32];
    char *const arguments[] = {program, "node", (char *)job_dir, NULL};
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    (void)snprintf(place, sizeof place, "%d %d", socket, (int)heir); /* fits */
    if (setenv(TASK_VARIABLE, place, 1) == 0)
        execv(program, arguments);
    fprintf(stderr, "phase-worker task: cannot start %s: %s\n", program, strerror(errno));
    free(program);
}

/* Waits for the end of the agent, and reaps the agent's helpers meanwhile. Helpers, such as the
 * samplers of all runs, are nobody's children (child.h), so the heir adopts them. */
static int task_await_agent(pid_t agent)
{
    int status = 0;
    pid_t ended;
    do {
        ended = waitpid(-1, &status, 0);
    } while (ended != agent && (ended > 0 || errno == EINTR));
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/* Runs in the process of the agent's heir. If the agent is killed, the kernel makes its descendants
 * children of the heir, whatever sessions and environments they have. */
static void task_be_heir(const char *job_dir, int socket)
{
    struct error err;
    if (processes_adopt(&err) < 0)
        fprintf(stderr, "phase-worker task: %s\n", err.message);
    pid_t heir = getpid(), agent = fork();
    if (agent == 0) {
        task_become_agent(job_dir, socket, heir);
        _exit(1);
    }
    if (agent < 0 || send(socket, &agent, sizeof agent, MSG_NOSIGNAL) != sizeof agent)
        return; /* the agent itself notices the end of the task */
    int told = task_await_agent(agent);
    if (told < 0)
        processes_end_all();
    if (send(socket, &told, sizeof told, MSG_NOSIGNAL) < 0 && told < 0) /* the task is gone, too */
        orphan_tell();
}

/* Starts the heir through a process that ends at once, so that init becomes its parent. Returns the
 * pid of the agent, or -1. */
static pid_t task_start_agent(const char *job_dir, int mine, int other)
{
    pid_t agent = -1, between = fork();
    if (between == 0) {
        close(mine);
        (void)setsid(); /* a new process cannot fail here */
        if (fork() == 0)
            task_be_heir(job_dir, other);
        _exit(1);
    }
    close(other);
    if (between < 0 || waitpid(between, NULL, 0) < 0 ||
        recv(mine, &agent, sizeof agent, 0) != sizeof agent)
        return -1;
    return agent;
}

static void task_pass_on(pid_t agent, int number)
{
    size_t count;
    struct process *family = processes_family(agent, &count);
    for (size_t i = 0; i < count; i++)
        (void)kill(family[i].pid, number); /* it may have ended */
    free(family);
    (void)kill(agent, number);
}

static void task_signalled(int signals, int socket, pid_t agent)
{
    struct signalfd_siginfo info;
    if (read(signals, &info, sizeof info) != sizeof info)
        return;
    if (info.ssi_signo == SIGCONT)
        task_pass_on(agent, SIGCONT);
    else if (info.ssi_signo == SIGTSTP) /* Slurm sends it before SIGSTOP */
        task_pass_on(agent, SIGSTOP);
    else
        (void)send(socket, "T", 1,
                   MSG_NOSIGNAL); /* the agent may have ended; the next read shows it */
}

static int task_attend(int signals, int socket, pid_t agent)
{
    struct pollfd polls[] = {{.fd = signals, .events = POLLIN}, {.fd = socket, .events = POLLIN}};
    while (true) {
        int status;
        if (poll(polls, 2, -1) < 0)
            continue;
        if (polls[0].revents)
            task_signalled(signals, socket, agent);
        if (!polls[1].revents)
            continue;
        if (recv(socket, &status, sizeof status, 0) != sizeof status)
            status = -SIGKILL; /* the heir was killed, too */
        if (status >= 0)
            return status;
        (void)prctl(PR_SET_DUMPABLE, 0); /* the agent has left its core */
        (void)signal(-status, SIG_DFL);
        (void)raise(-status);
    }
}

int task_main(const char *job_dir)
{
    static const int passed[] = {SIGTERM, SIGINT, SIGCONT, SIGTSTP};
    int pair[2];
    sigset_t set;
    /* Some sites signal whole job steps. */
    (void)signal(SIGHUP, SIG_IGN);
    (void)signal(SIGUSR1, SIG_IGN);
    (void)signal(SIGUSR2, SIG_IGN);
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++)
        sigaddset(&set, passed[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int signals = signalfd(-1, &set, SFD_CLOEXEC);
    pid_t agent = -1;
    if (signals >= 0 && socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0)
        agent = task_start_agent(job_dir, pair[0], pair[1]);
    if (agent < 0) {
        fprintf(stderr, "phase-worker task: cannot start the agent: %s\n", strerror(errno));
        return 1;
    }
    return task_attend(signals, pair[0], agent);
}
