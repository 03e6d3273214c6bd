/* Runs py-spy and nvidia-smi. Each is a child with a pipe, and all run at the same time. */
#include "worker/health/inspect.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "worker/clock.h"
#include "worker/process/processes.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    INSPECT_TOOLS_MAX = INSPECT_PYTHONS_MAX + 1,
    INSPECT_OUTPUT_MAX = 256 * 1024, /* of one tool; more output is read and dropped */
    INSPECT_ENVIRONMENT_MAX = 256 * 1024,
};

/* A tool that was started. */
struct tool {
    pid_t pid;
    int output; /* -1: the end of the output was read */
    pid_t of;   /* the inspected process; 0: none */
    struct text text;
};

struct tool_set {
    struct tool tools[INSPECT_TOOLS_MAX];
    size_t count;
};

/* --- Finding ---------------------------------------------------------------------------------- */

/* Returns the first executable file `name` in the folders of `path`. NULL: there is none. */
static char *inspect_find(const char *path, const char *name)
{
    while (path && *path) {
        size_t size = strcspn(path, ":");
        char *file = text_format("%.*s/%s", (int)size, path, name);
        if (file[0] == '/' && access(file, X_OK) == 0)
            return file;
        free(file);
        path += size + (path[size] == ':');
    }
    return NULL;
}

/* Finds a tool on the PATH of the inspected process, because py-spy is often installed only in the
 * environment of that program. */
static char *inspect_find_of(pid_t pid, const char *name)
{
    char *variables = xmalloc(INSPECT_ENVIRONMENT_MAX), *found = NULL;
    char *file = text_format("/proc/%d/environ", (int)pid);
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? 0 : read(fd, variables, INSPECT_ENVIRONMENT_MAX - 1);
    if (fd >= 0)
        close(fd);
    variables[size > 0 ? size : 0] = '\0';
    for (const char *at = variables; at < variables + size && !found; at += strlen(at) + 1)
        if (text_starts(at, "PATH="))
            found = inspect_find(at + strlen("PATH="), name);
    free(file);
    free(variables);
    return found ? found : inspect_find(getenv("PATH"), name);
}

static bool inspect_is_python(pid_t pid)
{
    char file[64], target[PATH_MAX];
    (void)snprintf(file, sizeof file, "/proc/%d/exe", (int)pid); /* fits */
    ssize_t size = readlink(file, target, sizeof target - 1);
    target[size > 0 ? size : 0] = '\0';
    const char *slash = strrchr(target, '/');
    return slash && text_starts(slash + 1, "python");
}

static int inspect_compare(const void *a, const void *b)
{
    const struct process *one = a, *other = b;
    return (one->threads < other->threads) - (one->threads > other->threads);
}

/* Returns the Python programs of `pids`, those with most threads first; the caller frees the list.
 */
static struct process *inspect_pythons(char **pids, size_t count, size_t *ret_count)
{
    struct process *pythons = xcalloc(count + 1, sizeof *pythons);
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        pid_t pid = (pid_t)strtol(pids[i], NULL, 10);
        char *file = text_format("/proc/%d/stat", (int)pid);
        bool is_there = pid > 0 && process_read(file, &pythons[found]);
        /* A read about a process that is stuck in the kernel may block as long as the process is
         * stuck. */
        if (is_there && pythons[found].state != 'D' && inspect_is_python(pid))
            found++;
        free(file);
    }
    qsort(pythons, found, sizeof *pythons, inspect_compare);
    *ret_count = found < INSPECT_PYTHONS_MAX ? found : INSPECT_PYTHONS_MAX;
    return pythons;
}

/* --- Asking ----------------------------------------------------------------------------------- */

static void inspect_start(struct tool_set *set, char *const *argv, pid_t of)
{
    posix_spawn_file_actions_t actions;
    int output[2];
    struct tool *tool = &set->tools[set->count];
    if (pipe2(output, O_CLOEXEC) < 0)
        return;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output[1], STDERR_FILENO);
    int status = posix_spawn(&tool->pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(output[1]);
    if (status != 0) {
        close(output[0]);
        return;
    }
    tool->output = output[0];
    tool->of = of;
    set->count++;
}

static void inspect_ask_python(struct tool_set *set, pid_t pid)
{
    char *program = inspect_find_of(pid, "py-spy"), *number = text_format("%d", (int)pid);
    /* --nonblocking does not stop the process. So the process stays running if py-spy dies. */
    char *const argv[] = {program, "dump", "--nonblocking", "--pid", number, NULL};
    if (program)
        inspect_start(set, argv, pid);
    free(program);
    free(number);
}

static void inspect_ask_gpus(struct tool_set *set)
{
    char *program = inspect_find(getenv("PATH"), "nvidia-smi");
    char *const argv[] = {program, NULL};
    if (program)
        inspect_start(set, argv, 0);
    free(program);
}

static void inspect_read(struct tool *tool)
{
    char buffer[4096];
    ssize_t size = read(tool->output, buffer, sizeof buffer);
    if (size < 0 && errno == EINTR)
        return;
    if (size <= 0) {
        close(tool->output);
        tool->output = -1;
    } else if (tool->text.size < INSPECT_OUTPUT_MAX) {
        text_add_bytes(&tool->text, buffer, (size_t)size);
    }
}

/* Reads until all tools have ended, the time is over, or the reader of the report is gone. */
static void inspect_listen(struct tool_set *set, int64_t until_ms)
{
    struct pollfd polls[INSPECT_TOOLS_MAX + 1];
    bool is_wanted = true;
    for (;;) {
        int64_t left_ms = until_ms - clock_steady_ms();
        size_t open = 0;
        for (size_t i = 0; i < set->count; i++) {
            polls[i] = (struct pollfd){.fd = set->tools[i].output, .events = POLLIN};
            open += polls[i].fd >= 0;
        }
        /* If the reader is gone, poll() reports an error of the output. */
        polls[set->count] = (struct pollfd){.fd = STDOUT_FILENO};
        if (!open || !is_wanted || left_ms <= 0 ||
            (poll(polls, set->count + 1, (int)left_ms) < 0 && errno != EINTR))
            return;
        for (size_t i = 0; i < set->count; i++)
            if (polls[i].revents)
                inspect_read(&set->tools[i]);
        is_wanted = !(polls[set->count].revents & (POLLERR | POLLNVAL));
    }
}

/* --- Telling ---------------------------------------------------------------------------------- */

/* Keeps printable ASCII only, and cuts the text. NULL: the text is empty. */
static json_t *inspect_string(const char *text, size_t size_max)
{
    struct text clean = {0};
    for (const char *at = text; *at && clean.size < size_max; at++) {
        bool is_plain = *at == '\n' || ((unsigned char)*at >= ' ' && (unsigned char)*at < 127);
        text_add_bytes(&clean, is_plain ? at : "?", 1);
    }
    json_t *string = clean.size ? json_string(text_string(&clean)) : NULL;
    text_fini(&clean);
    return string;
}

/* Puts the main thread first. py-spy prints it last, and the text is cut. */
static json_t *inspect_stacks(const char *text)
{
    const char *name = strstr(text, ": \"MainThread\"\n"), *begin = name, *first;
    struct text ordered = {0};
    while (begin && begin > text && begin[-1] != '\n')
        begin--;
    first = strstr(text, "\nThread ");
    if (begin && first && first + 1 < begin) {
        const char *end = strstr(begin, "\nThread ");
        size_t size = end ? (size_t)(end + 1 - begin) : strlen(begin);
        text_add_bytes(&ordered, text, (size_t)(first + 1 - text));
        text_add_bytes(&ordered, begin, size);
        text_add_bytes(&ordered, first + 1, (size_t)(begin - first - 1));
        text_add(&ordered, begin + size);
    } else {
        text_add(&ordered, text);
    }
    json_t *string = inspect_string(text_string(&ordered), INSPECT_STACKS_MAX);
    text_fini(&ordered);
    return string;
}

static json_t *inspect_report(const struct tool_set *set)
{
    json_t *report = json_object(), *pythons = json_array();
    for (size_t i = 0; i < set->count; i++) {
        const struct tool *tool = &set->tools[i];
        const char *text = text_string(&tool->text);
        json_t *string = tool->of ? inspect_stacks(text) : inspect_string(text, INSPECT_GPUS_MAX);
        if (string && tool->of)
            json_array_append_new(pythons,
                                  json_pack("{s:i, s:o}", "pid", (int)tool->of, "stacks", string));
        else if (string)
            json_object_set_new(report, "nvidia_smi", string);
    }
    if (json_array_size(pythons))
        json_object_set(report, "python", pythons);
    json_decref(pythons);
    return report;
}

static void inspect_end(struct tool_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        struct tool *tool = &set->tools[i];
        if (tool->output >= 0)
            (void)kill(tool->pid, SIGKILL); /* it may have ended, but it was not reaped */
        text_fini(&tool->text);
    }
}

int inspect_main(int argc, char **argv)
{
    struct tool_set set = {0};
    size_t count;
    if (argc > 1 && argv[1][0] == '-') {
        bool is_help = text_equal(argv[1], "-h") || text_equal(argv[1], "--help");
        (void)fputs("usage: phase-worker inspect PID...\n"
                    "Prints where the Python programs among these processes are (py-spy), and\n"
                    "the state of the GPUs (nvidia-smi). Uses only installed programs.\n",
                    is_help ? stdout : stderr); /* nobody to tell */
        return is_help ? 0 : 2;
    }
    struct process *pythons = inspect_pythons(argv + 1, (size_t)(argc - 1), &count);
    inspect_ask_gpus(&set);
    for (size_t i = 0; i < count; i++)
        inspect_ask_python(&set, pythons[i].pid);
    free(pythons);
    inspect_listen(&set, clock_steady_ms() + INSPECT_DEADLINE_MS);
    json_t *report = inspect_report(&set);
    inspect_end(&set);
    int status = json_dumpf(report, stdout, JSON_COMPACT);
    json_decref(report);
    return status < 0 || fputs("\n", stdout) < 0 || fflush(stdout) < 0;
}
