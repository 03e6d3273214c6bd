/* Finds descendants by the parents in /proc. */
#include "worker/process/processes.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    PROCESSES_END_TRIES = 500,
    PROCESSES_END_MS = 20,             /* between two tries */
    PROCESS_THREADS_MAX = 512,         /* that are looked at */
    PROCESS_ENVIRONMENT_MAX = 4 << 20, /* the kernel allows 6 MiB, with arguments */
};

int processes_adopt(struct error *err)
{
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return error_set(err, -errno, "cannot become a subreaper: %s", strerror(errno));
    return 0;
}

/* Reads "pid (name) state ppid pgrp session ...". The name may contain anything, so it ends at the
 * last parenthesis. */
static bool process_parse(const char *path, struct process *ret_process)
{
    char text[1024], state;
    int parent, process_group, session;
    unsigned threads;
    unsigned long long user, system, started;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    if (size <= 0)
        return false;
    text[size] = '\0';
    const char *name = strchr(text, '('), *end = strrchr(text, ')');
    if (!name || !end ||
        sscanf(end + 1,
               " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %u %*d %llu",
               &state, &parent, &process_group, &session, &user, &system, &threads, &started) != 8)
        return false;
    *ret_process = (struct process){.pid = (pid_t)strtol(text, NULL, 10),
                                    .parent = parent,
                                    .process_group = process_group,
                                    .session = session,
                                    .state = state,
                                    .threads = threads,
                                    .ticks = user + system,
                                    .started = started};
    (void)snprintf(ret_process->name, sizeof ret_process->name, "%.*s", (int)(end - name - 1),
                   name + 1); /* may be cut */
    return true;
}

/* Zombies are left out, because they have ended. */
bool process_read(const char *path, struct process *ret_process)
{
    return process_parse(path, ret_process) && ret_process->state != 'Z';
}

pid_t processes_reap(int *ret_status, uint64_t *ret_started)
{
    struct process process = {0};
    siginfo_t ended = {0};
    pid_t pid;
    if (ret_started && waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0) {
        char path[64];
        (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)ended.si_pid); /* fits */
        *ret_started = 0;
        if (!ended.si_pid)
            return 0; /* waitpid() could reap a child that ends only now, without its time */
        (void)process_parse(path, &process); /* 0 means that the time is unknown */
    }
    do {
        pid = waitpid(ended.si_pid ? ended.si_pid : -1, ret_status, WNOHANG);
    } while (pid < 0 && errno == EINTR);
    if (ret_started)
        *ret_started = process.started;
    return pid;
}

uint64_t processes_now(void)
{
    struct timespec now;
    uint64_t per_second = (uint64_t)sysconf(_SC_CLK_TCK);
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * per_second + (uint64_t)now.tv_nsec * per_second / 1000000000;
}

pid_t process_stuck_thread(pid_t pid)
{
    char path[64];
    pid_t stuck = 0;
    unsigned seen = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid); /* fits */
    DIR *folder = opendir(path);
    struct dirent *entry;
    while (folder && !stuck && seen < PROCESS_THREADS_MAX && (entry = readdir(folder))) {
        struct process thread;
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        char *stat = text_format("%s/%s/stat", path, entry->d_name);
        if (process_read(stat, &thread) && thread.state == 'D')
            stuck = thread.pid;
        free(stat);
        seen++;
    }
    if (folder)
        closedir(folder);
    return stuck;
}

char *process_program(pid_t pid)
{
    char path[64], program[PATH_MAX];
    (void)snprintf(path, sizeof path, "/proc/%d/exe", (int)pid); /* fits */
    ssize_t size = readlink(path, program, sizeof program - 1);
    program[size > 0 ? size : 0] = '\0'; /* no size: the process has ended */
    const char *slash = strrchr(program, '/');
    return xstrdup(slash ? slash + 1 : "");
}

char *process_environment(pid_t pid, size_t *ret_size)
{
    char path[64], *environment = NULL;
    *ret_size = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/environ", (int)pid); /* fits */
    (void)file_read(path, PROCESS_ENVIRONMENT_MAX, &environment, ret_size, NULL);
    return environment;
}

const char *process_variable(const char *environment, size_t size, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = environment; at < environment + size; at += strlen(at) + 1)
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at + length + 1;
    return NULL;
}

struct process *processes_all(size_t *ret_count)
{
    struct process *list = NULL;
    size_t count = 0, capacity = 0;
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        struct process process;
        char path[64];
        bool fits = snprintf(path, sizeof path, "/proc/%.20s/stat", entry->d_name) < 64;
        if (!isdigit((unsigned char)entry->d_name[0]) || !fits || !process_read(path, &process))
            continue;
        if (count == capacity) {
            capacity = capacity ? 2 * capacity : 256;
            list = xrealloc(list, capacity * sizeof *list);
        }
        list[count++] = process;
    }
    if (folder)
        closedir(folder);
    *ret_count = count;
    return list;
}

struct process *processes_family(pid_t ancestor, size_t *ret_count)
{
    size_t count, found = 0;
    struct process *list = processes_all(&count);
    struct process *family = xmalloc((count + 1) * sizeof *family);
    /* Each member adds its children. A process has one parent, so no process comes twice. */
    for (size_t parents = 0; parents <= found; parents++) {
        pid_t parent = parents ? family[parents - 1].pid : ancestor;
        for (size_t i = 0; i < count; i++)
            if (list[i].parent == parent && found < count)
                family[found++] = list[i];
    }
    free(list);
    *ret_count = found;
    return family;
}

bool processes_any_since(uint64_t started)
{
    size_t count;
    bool is_any = false;
    struct process *family = processes_family(getpid(), &count);
    for (size_t i = 0; i < count; i++)
        is_any |= family[i].started >= started;
    free(family);
    return is_any;
}

bool processes_is_srun(const struct process *process)
{
    return text_equal(process->name, "srun");
}

/* Returns the signals that the process takes in a handler or by sigwait(), and that so do not just
 * end it. */
static unsigned long long processes_taken(pid_t pid)
{
    char path[64], line[256];
    unsigned long long blocked = 0, caught = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid); /* fits */
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "SigBlk: %llx", &blocked) != 1 &&
            sscanf(line, "SigCgt: %llx", &caught) == 1)
            break;
    if (file)
        (void)fclose(file);
    return blocked | caught;
}

static bool processes_has(unsigned long long signals, int number)
{
    return signals >> (number - 1) & 1;
}

static bool processes_waits_for_srun(const struct process *family, size_t count, size_t waiter)
{
    for (size_t i = waiter; i < count; i++) {
        if (!processes_is_srun(&family[i]))
            continue;
        size_t at = i; /* parents come before their children */
        for (size_t k = i; k-- > waiter;)
            if (family[k].pid == family[at].parent)
                at = k;
        if (at == waiter)
            return true;
    }
    return false;
}

/* The name of the process is that of its script, such as train.sh, so the program decides. */
static bool processes_is_shell(const struct process *process)
{
    static const char *const names[] = {"sh", "bash", "dash", "ksh", "zsh"};
    char *program = process_program(process->pid);
    bool is_shell = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        is_shell |= text_equal(program, names[i]);
    free(program);
    return is_shell;
}

static bool processes_is_named(const struct process *process, const char *const *names)
{
    for (; names && *names; names++)
        if (text_equal(process->name, *names))
            return true;
    return false;
}

/* GNU timeout makes a process group and passes signals on to it. If timeout got a stop signal, its
 * command would get the signal twice; and an srun in place of the command would kill its program.
 */
static bool processes_is_timeout(const struct process *process)
{
    static const char *const names[] = {"timeout", NULL};
    return processes_is_named(process, names);
}

/* Whether the process must not get the signal, because it is a timeout or an srun, or waits for an
 * srun. A process that waits must live until the program under srun has saved. Without a handler,
 * the signal would end the process. The trap of a shell may pass SIGTERM on to srun. At a
 * preemption, Slurm does not signal the shell of a batch script either. */
static bool processes_is_spared(const struct process *family, size_t count, size_t member,
                                int number)
{
    const struct process *process = &family[member];
    if (number == SIGKILL || processes_is_timeout(process))
        return number != SIGKILL;
    return processes_waits_for_srun(family, count, member) &&
           (processes_is_srun(process) || (number == SIGTERM && processes_is_shell(process)) ||
            !processes_has(processes_taken(process->pid), number));
}

static unsigned processes_send(const struct process *family, size_t count, size_t member,
                               const char *const *names, int number)
{
    return !processes_is_named(&family[member], names) &&
           !processes_is_spared(family, count, member, number) &&
           kill(family[member].pid, number) == 0;
}

unsigned processes_signal(const char *const *names, int number)
{
    size_t count;
    unsigned signalled = 0;
    struct process *family = processes_family(getpid(), &count);
    for (size_t member = 0; member < count; member++)
        signalled += processes_send(family, count, member, names, number);
    free(family);
    return signalled;
}

/* --- Who hears of a stop ---------------------------------------------------------------------- */

/* What is known about a process of a list. */
struct hearing {
    size_t parent; /* its index; the size of the list: the parent is not in the list */
    bool is_shell;
    bool is_vague;    /* it takes almost all signals: a shell with a trap for EXIT, a Go program;
                       * or it is a shell, and takes SIGINT */
    bool answers;     /* it has a handler for the signal */
    bool is_reached;  /* no other process passes the signal on to it */
    bool has_answer;  /* a descendant answers */
    bool is_launcher; /* a child answers in a process group of its own */
};

static void hearing_learn(const struct process *list, size_t count, size_t i, int number,
                          struct hearing *ret_hearing)
{
    unsigned long long taken = processes_taken(list[i].pid);
    struct hearing hearing = {.is_shell = processes_is_shell(&list[i])};
    /* A shell takes SIGINT as long as it waits for a command. */
    hearing.is_vague = processes_has(taken, SIGXCPU) || (hearing.is_shell && number == SIGINT);
    hearing.answers = processes_has(taken, number) && !processes_is_timeout(&list[i]) &&
                      !processes_is_srun(&list[i]);
    while (hearing.parent < count && list[hearing.parent].pid != list[i].parent)
        hearing.parent++;
    *ret_hearing = hearing;
}

/* Whether the process that has made the group of this process has a handler for the signal. Then it
 * passes the signal on if the group needs it. A shell that just waits for a timeout passes nothing
 * on, although its trap for EXIT looks like a handler. With `is_first`, a process above this
 * process in the group counts, too: a data loader may have inherited the handler of its trainer. */
static bool hearing_is_left(const struct process *list, size_t count, const struct hearing *all,
                            size_t i, bool is_first)
{
    for (size_t at = i, parent; (parent = all[at].parent) < count; at = parent) {
        bool is_maker = list[parent].process_group != list[i].process_group;
        bool just_waits = all[parent].is_shell && all[parent].is_vague;
        if (is_maker || (is_first && all[parent].answers))
            return all[parent].answers && !(just_waits && processes_is_timeout(&list[at]));
    }
    return false;
}

static bool hearing_is_below(const struct process *list, size_t count, const struct hearing *all,
                             size_t i, pid_t process_group)
{
    while (i < count && list[i].process_group != process_group)
        i = all[i].parent;
    return i < count;
}

/* Notes a process that answers in all processes above it. */
static void hearing_note_answer(const struct process *list, size_t count, struct hearing *all,
                                size_t i)
{
    for (size_t parent; (parent = all[i].parent) < count; i = parent) {
        all[parent].has_answer = true;
        all[parent].is_launcher |= list[parent].process_group != list[i].process_group;
    }
}

/* Sets which processes are reached. Returns whether a program answers: neither a shell of the
 * script, nor a process that takes almost all signals, such as the starter of a container. */
static bool hearing_reach(const struct process *list, size_t count, struct hearing *all,
                          pid_t process_group, bool is_users)
{
    pid_t session = process_group; /* unless a process of the group tells another */
    bool has_program = false;
    for (size_t i = 0; i < count; i++)
        if (list[i].process_group == process_group)
            session = list[i].session;
    for (size_t i = 0; i < count; i++) {
        bool is_foreign = list[i].session != session;
        bool may_be = !is_foreign || (is_users && all[i].answers &&
                                      hearing_is_below(list, count, all, i, process_group));
        all[i].is_reached = list[i].process_group == process_group ||
                            (may_be && !hearing_is_left(list, count, all, i, is_foreign));
        has_program |= all[i].is_reached && all[i].answers && !all[i].is_vague &&
                       (is_foreign || !all[i].is_shell);
    }
    return has_program;
}

bool *processes_choose(const struct process *list, size_t count, pid_t process_group, int number)
{
    bool is_users = number == SIGUSR1 || number == SIGUSR2;
    bool *is_chosen = xcalloc(count + 1, sizeof *is_chosen);
    struct hearing *all = xcalloc(count + 1, sizeof *all);
    for (size_t i = 0; i < count; i++)
        hearing_learn(list, count, i, number, &all[i]);
    bool has_program = hearing_reach(list, count, all, process_group, is_users);
    for (size_t i = 0; i < count; i++)
        if (all[i].is_reached && all[i].answers)
            hearing_note_answer(list, count, all, i);
    for (size_t i = 0; i < count; i++) {
        bool is_in_the_way = all[i].has_answer && (all[i].is_shell || !all[i].is_launcher);
        bool is_helper = is_users && has_program && !all[i].answers && !is_in_the_way;
        is_chosen[i] = all[i].is_reached && !is_helper && !processes_is_srun(&list[i]) &&
                       !processes_is_timeout(&list[i]);
    }
    free(all);
    return is_chosen;
}

unsigned processes_stop(pid_t process_group, const char *const *names, int number)
{
    size_t count;
    unsigned signalled = 0;
    struct process *family = processes_family(getpid(), &count);
    bool *is_chosen = processes_choose(family, count, process_group, number);
    for (size_t member = 0; member < count; member++)
        if (is_chosen[member])
            signalled += processes_send(family, count, member, names, number);
    free(is_chosen);
    free(family);
    return signalled;
}

unsigned processes_stop_children(const char *name, int number)
{
    const char *const names[] = {name, NULL};
    size_t count;
    unsigned signalled = 0;
    struct process *family = processes_family(getpid(), &count);
    for (size_t parent = 0; parent < count; parent++) {
        if (!processes_is_named(&family[parent], names))
            continue;
        for (size_t i = 0; i < count; i++)
            if (family[i].parent == family[parent].pid && family[i].pid == family[i].process_group)
                signalled += processes_stop(family[i].process_group, NULL, number);
    }
    free(family);
    return signalled;
}

void processes_end_all(void)
{
    int status;
    for (unsigned i = 0; i < PROCESSES_END_TRIES && processes_signal(NULL, SIGKILL); i++) {
        (void)poll(NULL, 0, PROCESSES_END_MS);
        while (processes_reap(&status, NULL) > 0)
            ;
    }
}
