/* Reads what processes do, from /proc. */
#include "worker/health/evidence.h"

#include "lib/clock.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/protocol/told_evidence.h"
#include "lib/secrets.h"
#include "lib/text.h"
#include "worker/process/processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    EVIDENCE_SOCKETS_MAX = 1024,
    EVIDENCE_READ_MAX = 6 << 20, /* of a command line: what the kernel allows */
    EVIDENCE_COMMAND_MAX = 160,
    EVIDENCE_WORD_SIZE = 64,
};

#define EVIDENCE_SPINS 0.5 /* as a share of one processor */

struct evidence {
    struct process *family;
    size_t count;
    int64_t began_ms;
};

enum sight_kind { SIGHT_SLEEPS, SIGHT_SPINS, SIGHT_STUCK, SIGHT_KINDS };

/* One process at the second look. */
struct sight {
    struct process process;
    double cpu;
    bool is_running;               /* at both looks */
    bool is_stuck;                 /* one of its threads waits uninterruptibly */
    char wait[EVIDENCE_WORD_SIZE]; /* of the stuck thread, otherwise of the first thread */
};

static const struct {
    long number;
    const char *name;
} evidence_calls[] = {
    {SYS_read, "read"},
    {SYS_write, "write"},
    {SYS_futex, "futex"},
    {SYS_ioctl, "ioctl"},
    {SYS_wait4, "wait4"},
    {SYS_ppoll, "ppoll"},
    {SYS_pselect6, "pselect6"},
    {SYS_epoll_pwait, "epoll_pwait"},
    {SYS_nanosleep, "nanosleep"},
    {SYS_clock_nanosleep, "clock_nanosleep"},
    {SYS_recvfrom, "recvfrom"},
    {SYS_recvmsg, "recvmsg"},
    {SYS_sendto, "sendto"},
    {SYS_sendmsg, "sendmsg"},
    {SYS_connect, "connect"},
    {SYS_accept, "accept"},
    {SYS_accept4, "accept4"},
    {SYS_openat, "openat"},
    {SYS_close, "close"},
    {SYS_fsync, "fsync"},
    {SYS_munmap, "munmap"},
    {SYS_flock, "flock"},
    {SYS_fcntl, "fcntl"},
    {SYS_waitid, "waitid"},
    {SYS_rt_sigsuspend, "rt_sigsuspend"},
#ifdef SYS_poll /* newer architectures have only the calls above */
    {SYS_poll, "poll"},
    {SYS_select, "select"},
    {SYS_epoll_wait, "epoll_wait"},
    {SYS_pause, "pause"},
    {SYS_vfork, "vfork"},
#endif
};

struct evidence *evidence_begin(uint64_t since)
{
    size_t count;
    struct evidence *evidence = xcalloc(1, sizeof *evidence);
    evidence->began_ms = clock_steady_ms();
    evidence->family = processes_family(getpid(), &count);
    for (size_t i = 0; i < count; i++)
        if (evidence->family[i].started >= since)
            evidence->family[evidence->count++] = evidence->family[i];
    return evidence;
}

void evidence_free(struct evidence *evidence)
{
    if (!evidence)
        return;
    free(evidence->family);
    free(evidence);
}

bool evidence_is_stopped(const struct evidence *evidence)
{
    for (size_t i = 0; i < evidence->count; i++)
        if (evidence->family[i].state == 'T' || evidence->family[i].state == 't')
            return true;
    return false;
}

size_t evidence_pids(const struct evidence *evidence, pid_t *pids, size_t size)
{
    size_t count = evidence->count < size ? evidence->count : size;
    for (size_t i = 0; i < count; i++)
        pids[i] = evidence->family[i].pid;
    return count;
}

/* --- Files of /proc --------------------------------------------------------------------------- */

/* Reads the beginning of a file. Returns its size, or 0 if the file cannot be read. */
__attribute__((format(printf, 3, 4))) static size_t evidence_read(char *buffer, size_t size,
                                                                  const char *format, ...)
{
    char path[128];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(path, sizeof path, format, args);
    va_end(args);
    int fd = length < (int)sizeof path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t count = fd < 0 ? 0 : read(fd, buffer, size - 1);
    if (fd >= 0)
        close(fd);
    buffer[count > 0 ? count : 0] = '\0';
    return count > 0 ? (size_t)count : 0;
}

/* Keeps printable ASCII only. NULL: the text is empty. */
static const char *evidence_plain(char *text)
{
    for (char *at = text; *at; at++)
        if ((unsigned char)*at < ' ' || (unsigned char)*at >= 127)
            *at = '?';
    return *text ? text : NULL;
}

/* Reads where a thread sleeps: the name of a kernel function, or "0" if the kernel hides it. */
static void evidence_read_wait(const char *folder, char wait[EVIDENCE_WORD_SIZE])
{
    size_t size = evidence_read(wait, EVIDENCE_WORD_SIZE, "%s/wchan", folder);
    if (size == 0 || text_equal(wait, "0"))
        wait[0] = '\0';
}

static void evidence_read_call(const char *folder, char call[EVIDENCE_WORD_SIZE])
{
    char text[256], *end;
    call[0] = '\0';
    if (!evidence_read(text, sizeof text, "%s/syscall", folder))
        return;
    long number = strtol(text, &end, 10);
    if (end == text || number < 0)
        return; /* the thread runs, or is in the kernel for another reason */
    (void)snprintf(call, EVIDENCE_WORD_SIZE, "%ld", number);
    for (size_t i = 0; i < sizeof evidence_calls / sizeof evidence_calls[0]; i++)
        if (evidence_calls[i].number == number)
            (void)snprintf(call, EVIDENCE_WORD_SIZE, "%s", evidence_calls[i].name);
}

static unsigned evidence_count_sockets(pid_t pid)
{
    char path[64], target[16];
    unsigned seen = 0, sockets = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *folder = opendir(path);
    struct dirent *entry;
    while (folder && seen < EVIDENCE_SOCKETS_MAX && (entry = readdir(folder))) {
        ssize_t size = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
        target[size > 0 ? size : 0] = '\0';
        sockets += text_starts(target, "socket:");
        seen++;
    }
    if (folder)
        closedir(folder);
    return sockets;
}

/* The beginning of the command line; the caller frees it. NULL: it cannot be read. */
static char *evidence_read_command(pid_t pid, const json_t *secrets)
{
    char path[64], *command;
    size_t size;
    (void)snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid); /* fits */
    if (file_read(path, EVIDENCE_READ_MAX, &command, &size, NULL) < 0)
        return NULL;
    while (size && !command[size - 1])
        size--;
    for (size_t i = 0; i < size; i++)
        if (!command[i])
            command[i] = ' ';
    command = secrets_scrub(secrets, command); /* before the cut, which may cut a secret */
    command[strnlen(command, EVIDENCE_COMMAND_MAX)] = '\0';
    return command;
}

/* --- One process ------------------------------------------------------------------------------ */

static void sight_look(struct sight *sight)
{
    char path[64];
    pid_t pid = sight->process.pid, thread = process_stuck_thread(pid);
    sight->is_stuck = thread != 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d", (int)pid, (int)(thread ? thread : pid));
    evidence_read_wait(path, sight->wait);
}

static enum sight_kind sight_kind(const struct sight *sight)
{
    if (sight->is_stuck)
        return SIGHT_STUCK;
    /* On a node with too few processors, a spinning process gets little time. */
    bool is_short = sight->is_running && sight->cpu > 0;
    return sight->cpu >= EVIDENCE_SPINS || is_short ? SIGHT_SPINS : SIGHT_SLEEPS;
}

static json_t *sight_to_json(const struct sight *sight, const struct evidence_rank *rank,
                             const json_t *secrets)
{
    static const char *const does[] = {"sleeps", "spins", "stuck"};
    struct process process = sight->process;
    const char state[] = {process.state, '\0'};
    char folder[64], call[EVIDENCE_WORD_SIZE], wait[EVIDENCE_WORD_SIZE];
    char *command = sight->is_stuck ? NULL : evidence_read_command(process.pid, secrets);
    (void)snprintf(folder, sizeof folder, "/proc/%d", (int)process.pid);
    evidence_read_call(folder, call);
    evidence_read_wait(folder, wait);
    const struct told_process told = {
        .pid = process.pid,
        .parent = process.parent,
        .state = state,
        .cpu = sight->cpu,
        .threads = process.threads,
        .sockets = evidence_count_sockets(process.pid),
        .rank = rank->rank,
        .group = rank->group,
        .does = does[sight_kind(sight)],
        .name = evidence_plain(process.name),
        .command = command ? evidence_plain(command) : NULL,
        .call = evidence_plain(call),
        .wait = evidence_plain(wait),
    };
    json_t *json = told_process_to_json(&told);
    free(command);
    return json;
}

/* --- All of them ------------------------------------------------------------------------------ */

/* Returns the rank whose process is an ancestor of this process, or this process itself. */
static const struct evidence_rank *evidence_rank_of(const struct evidence *evidence, pid_t pid,
                                                    const struct evidence_rank *ranks, size_t count)
{
    static const struct evidence_rank none = {.rank = -1, .group = -1};
    for (size_t hops = 0; hops <= evidence->count; hops++) {
        for (size_t i = 0; i < count; i++)
            if (ranks[i].pid == pid)
                return &ranks[i];
        size_t at = 0;
        while (at < evidence->count && evidence->family[at].pid != pid)
            at++;
        if (at == evidence->count)
            break; /* its ancestors have ended */
        pid = evidence->family[at].parent;
    }
    return &none;
}

static double evidence_cpu(const struct evidence *evidence, size_t i, const struct process *now,
                           double seconds)
{
    uint64_t before = evidence->family[i].ticks;
    long per_second = sysconf(_SC_CLK_TCK);
    if (seconds <= 0 || per_second <= 0 || now->ticks < before)
        return 0;
    return (double)(now->ticks - before) / (double)per_second / seconds;
}

/* Whether `sight` tells more than `other`. A stuck process tells most, then a spinning process,
 * then the process with more threads. A launcher that waits for its child tells least. */
static bool sight_tells_more(const struct sight *sight, const struct sight *other)
{
    if (sight_kind(sight) != sight_kind(other))
        return sight_kind(sight) > sight_kind(other);
    return sight->process.threads >= other->process.threads;
}

static char *evidence_summary(const struct sight *sight, const struct evidence_rank *rank,
                              const unsigned counts[SIGHT_KINDS])
{
    static const char *const verbs[] = {"sleeps", "spins", "waits uninterruptibly"};
    unsigned sum = counts[SIGHT_SLEEPS] + counts[SIGHT_SPINS] + counts[SIGHT_STUCK];
    struct process process = sight->process;
    const char *name = evidence_plain(process.name);
    struct text text = {0};
    text_add(&text, name ? name : "");
    if (rank->rank >= 0)
        text_addf(&text, " of rank %d", rank->rank);
    if (rank->group >= 0)
        text_addf(&text, " of group %d", rank->group);
    text_addf(&text, " (pid %d) %s", (int)sight->process.pid, verbs[sight_kind(sight)]);
    if (sight->wait[0] && sight_kind(sight) != SIGHT_SPINS)
        text_addf(&text, " in %s", sight->wait);
    if (sum > 1)
        text_addf(&text, "; of %u processes %u spin, %u sleep, %u are stuck", sum,
                  counts[SIGHT_SPINS], counts[SIGHT_SLEEPS], counts[SIGHT_STUCK]);
    return text_steal(&text);
}

/* NULL: the process has ended. */
static struct sight *evidence_sight(const struct evidence *evidence, size_t i, double seconds)
{
    struct sight *sight = xcalloc(1, sizeof *sight);
    char *path = text_format("/proc/%d/stat", (int)evidence->family[i].pid);
    bool is_there = process_read(path, &sight->process);
    free(path);
    if (!is_there) {
        free(sight);
        return NULL;
    }
    sight->cpu = evidence_cpu(evidence, i, &sight->process, seconds);
    sight->is_running = evidence->family[i].state == 'R' && sight->process.state == 'R';
    sight_look(sight);
    return sight;
}

json_t *evidence_finish(struct evidence *evidence, const struct evidence_rank *ranks, size_t count,
                        const json_t *secrets, char **ret_summary)
{
    double seconds = (double)(clock_steady_ms() - evidence->began_ms) / 1000;
    json_t *processes = json_array();
    struct sight *best = NULL;
    unsigned omitted = 0, counts[SIGHT_KINDS] = {0};
    for (size_t i = 0; i < evidence->count; i++) {
        struct sight *sight = evidence_sight(evidence, i, seconds);
        if (!sight)
            continue;
        const struct evidence_rank *rank =
            evidence_rank_of(evidence, sight->process.pid, ranks, count);
        counts[sight_kind(sight)]++;
        if (json_array_size(processes) < EVIDENCE_PROCESSES_MAX)
            json_array_append_new(processes, sight_to_json(sight, rank, secrets));
        else
            omitted++;
        bool is_better = !best || sight_tells_more(sight, best);
        free(is_better ? best : sight);
        best = is_better ? sight : best;
    }
    const struct evidence_rank *rank =
        best ? evidence_rank_of(evidence, best->process.pid, ranks, count) : NULL;
    *ret_summary = best ? evidence_summary(best, rank, counts) : text_format("no process is left");
    free(best);
    json_t *json = told_evidence_to_json(
        &(struct told_evidence){.seconds = seconds, .omitted = omitted, .processes = processes});
    json_decref(processes);
    return json;
}
