/* Runs py-spy and nvidia-smi, all at the same time. */
#include "worker/health/inspect.h"

#include "lib/file.h"
#include "lib/memory.h"
#include "lib/protocol/told_evidence.h"
#include "lib/text.h"
#include "worker/process/child.h"
#include "worker/process/processes.h"

#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    INSPECT_TOOLS_MAX = INSPECT_PYTHONS_MAX + 1,
    INSPECT_OUTPUT_MAX = 256 * 1024, /* of one tool; more output is read and dropped */
    INSPECT_LOOK_MS = 100,           /* between two looks whether somebody waits for the report */
};

/* A tool that was started. */
struct tool {
    struct child *child; /* NULL after its end */
    pid_t of;            /* the inspected process; 0: the tool inspects the GPUs */
    char *told;          /* its output, or NULL */
};

struct tool_set {
    uv_loop_t loop;
    uv_timer_t look;
    struct tool tools[INSPECT_TOOLS_MAX];
    size_t count;
};

/* --- Finding ---------------------------------------------------------------------------------- */

/* Finds a tool on the PATH of the inspected process, because py-spy is often installed only in the
 * environment of that program. */
static char *inspect_find_of(pid_t pid, const char *name)
{
    size_t size;
    char *environment = process_environment(pid, &size);
    char *found = file_find_program(process_variable(environment, size, "PATH"), name);
    free(environment);
    return found ? found : file_find_program(getenv("PATH"), name);
}

static bool inspect_is_python(pid_t pid)
{
    char *program = process_program(pid);
    bool is_python = text_starts(program, "python");
    free(program);
    return is_python;
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
        if (is_there && !process_stuck_thread(pid) && inspect_is_python(pid))
            found++;
        free(file);
    }
    qsort(pythons, found, sizeof *pythons, inspect_compare);
    *ret_count = found < INSPECT_PYTHONS_MAX ? found : INSPECT_PYTHONS_MAX;
    return pythons;
}

/* --- What the tools print --------------------------------------------------------------------- */

/* Keeps printable ASCII only, and cuts the text. NULL: the text is empty. The caller frees it. */
static char *inspect_string(const char *text, size_t size_max)
{
    struct text clean = {0};
    for (const char *at = text; *at && clean.size < size_max; at++) {
        bool is_plain = *at == '\n' || ((unsigned char)*at >= ' ' && (unsigned char)*at < 127);
        text_add_bytes(&clean, is_plain ? at : "?", 1);
    }
    return clean.size ? text_steal(&clean) : NULL;
}

/* Copies what py-spy prints, without the command line of the process: an argument may be a secret,
 * and the evidence has the command line, without secrets. The header is
 *
 *   Process 4711: python train.py
 *   Python v3.12.3 (/usr/bin/python3.12) */
static char *inspect_without_command(const char *text)
{
    struct text copy = {0};
    const char *begin = text_starts(text, "Process ") ? text : strstr(text, "\nProcess "), *end;
    if (begin) {
        text_add_bytes(&copy, text, (size_t)(begin - text));
        end = strstr(begin, "\nPython v");
        end = end ? end : strstr(begin, "\nThread ");
        text = end ? end + (begin == text) : "";
    }
    text_add(&copy, text);
    return text_steal(&copy);
}

/* Puts the main thread first. py-spy prints it last, and the text is cut. */
static char *inspect_stacks(const char *output)
{
    char *text = inspect_without_command(output);
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
    char *string = inspect_string(text_string(&ordered), INSPECT_STACKS_MAX);
    text_fini(&ordered);
    free(text);
    return string;
}

/* --- Asking ----------------------------------------------------------------------------------- */

static void inspect_ended(void *context, const struct child_end *end)
{
    struct tool *tool = context;
    const char *text = text_string(child_text(tool->child));
    (void)end; /* output that came in time counts */
    tool->told = tool->of ? inspect_stacks(text) : inspect_string(text, INSPECT_GPUS_MAX);
    child_close(tool->child);
    tool->child = NULL;
}

static void inspect_start(struct tool_set *set, char *const *argv, pid_t of)
{
    struct tool *tool = &set->tools[set->count++];
    const struct child_options options = {
        .loop = &set->loop,
        .kind = CHILD_OF_LOOP,
        .program = argv[0],
        .arguments = argv,
        .out = {.output = CHILD_TEXT, .size_max = INSPECT_OUTPUT_MAX},
        .err = {.output = CHILD_JOINS},
        .deadline_ms = INSPECT_DEADLINE_MS,
        .ended = inspect_ended,
        .context = tool,
    };
    tool->of = of;
    tool->child = child_try(&options);
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
    char *program = file_find_program(getenv("PATH"), "nvidia-smi");
    char *const argv[] = {program, NULL};
    if (program)
        inspect_start(set, argv, 0);
    free(program);
}

/* Ends the tools if the reader of the report is gone: poll() then reports an error of the output.
 */
static void inspect_look_done(uv_timer_t *timer)
{
    struct tool_set *set = timer->data;
    struct pollfd output = {.fd = STDOUT_FILENO};
    if (poll(&output, 1, 0) <= 0)
        return;
    for (size_t i = 0; i < set->count; i++)
        if (set->tools[i].child)
            child_signal(set->tools[i].child, SIGKILL);
}

/* Waits until all tools have ended, or the time is over. */
static void inspect_wait(struct tool_set *set)
{
    uv_timer_init(&set->loop, &set->look);
    set->look.data = set;
    uv_timer_start(&set->look, inspect_look_done, INSPECT_LOOK_MS, INSPECT_LOOK_MS);
    uv_unref((uv_handle_t *)&set->look); /* it is not a reason to wait */
    uv_run(&set->loop, UV_RUN_DEFAULT);
}

/* --- The report ------------------------------------------------------------------------------- */

static json_t *inspect_report(const struct tool_set *set)
{
    struct told_inspection told = {0};
    json_t *pythons = json_array();
    for (size_t i = 0; i < set->count; i++) {
        const struct tool *tool = &set->tools[i];
        const struct told_stacks stacks = {.pid = tool->of, .stacks = tool->told};
        if (tool->told && tool->of)
            json_array_append_new(pythons, told_stacks_to_json(&stacks));
        else if (tool->told)
            told.nvidia_smi = tool->told;
    }
    told.python = json_array_size(pythons) ? pythons : NULL;
    json_t *report = told_inspection_to_json(&told);
    json_decref(pythons);
    return report;
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
    uv_loop_init(&set.loop);
    inspect_ask_gpus(&set);
    for (size_t i = 0; i < count; i++)
        inspect_ask_python(&set, pythons[i].pid);
    free(pythons);
    inspect_wait(&set);
    json_t *report = inspect_report(&set);
    for (size_t i = 0; i < set.count; i++)
        free(set.tools[i].told);
    int status = json_dumpf(report, stdout, JSON_COMPACT);
    json_decref(report);
    return status < 0 || fputs("\n", stdout) < 0 || fflush(stdout) < 0;
}
