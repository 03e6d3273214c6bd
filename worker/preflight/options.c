/* The options of phase-preflight. */
#include "worker/preflight/options.h"

#include "config.h"
#include "lib/text.h"
#include "worker/preflight/facts.h"
#include "worker/preflight/groups.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEADLINE_MS = 4000, DEADLINE_MS_MAX = 60000 };

static const char usage[] =
    "usage: phase-preflight [OPTION]...\n"
    "Says whether this node is fit for a run: 0 passed, 1 failed, 3 could not tell.\n\n"
    "  --level LEVEL      quick (the default), or full: measures too, for up to a minute\n"
    "  --gpus N           GPUs that are allocated here; default SLURM_GPUS_ON_NODE\n"
    "  --devices LIST     which: indices or UUIDs; default CUDA_VISIBLE_DEVICES, else all\n"
    "  --model TEXT       part of the GPUs' name\n"
    "  --scratch FOLDER   default TMPDIR, else /tmp\n"
    "  --thresholds FILE  default PHASED_PREFLIGHT_THRESHOLDS, else as installed\n"
    "  --kernel-log FILE  default /dev/kmsg\n"
    "  --deadline-ms N    for the driver to answer; default 4000\n"
    "  --observe          only report: exit with 0 whatever was found\n"
    "  --json             for programs\n"
    "  --help, --version\n\n"
    "Of the full level:\n"
    "  --parallel SIZES   the run's layout, as tensor=4,data=2: which GPUs reduce together\n"
    "  --groups LIST      the same as ranks, as 0-3/4-7; default all GPUs\n"
    "  --nodes N, --node K, --rendezvous FOLDER\n"
    "                     this is node K, from 0, of N that measure together\n"
    "  --baseline FILE    what a good node of the site has measured; default\n"
    "                     PHASED_PREFLIGHT_BASELINE\n"
    "  --record FILE      writes such a file, unless something failed\n";

static int complain(const char *what, const char *value)
{
    fprintf(stderr, "phase-preflight: %s: %s\n", value, what);
    return OPTIONS_EXIT_USAGE;
}

/* Returns -1 for what is no whole number from 0 to `most`. */
static int parse_number(const char *text, long most)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    return errno || end == text || *end || value < 0 || value > most ? -1 : (int)value;
}

enum {
    OPTION_LEVEL = 1,
    OPTION_GPUS,
    OPTION_DEVICES,
    OPTION_MODEL,
    OPTION_SCRATCH,
    OPTION_THRESHOLDS,
    OPTION_KERNEL_LOG,
    OPTION_DEADLINE,
    OPTION_OBSERVE,
    OPTION_JSON,
    OPTION_HELP,
    OPTION_VERSION,
    OPTION_PARALLEL,
    OPTION_GROUPS,
    OPTION_NODES,
    OPTION_NODE,
    OPTION_RENDEZVOUS,
    OPTION_BASELINE,
    OPTION_RECORD,
};

static const struct option known_options[] = {
    {"level", required_argument, NULL, OPTION_LEVEL},
    {"gpus", required_argument, NULL, OPTION_GPUS},
    {"devices", required_argument, NULL, OPTION_DEVICES},
    {"model", required_argument, NULL, OPTION_MODEL},
    {"scratch", required_argument, NULL, OPTION_SCRATCH},
    {"thresholds", required_argument, NULL, OPTION_THRESHOLDS},
    {"kernel-log", required_argument, NULL, OPTION_KERNEL_LOG},
    {"deadline-ms", required_argument, NULL, OPTION_DEADLINE},
    {"observe", no_argument, NULL, OPTION_OBSERVE},
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, OPTION_HELP},
    {"version", no_argument, NULL, OPTION_VERSION},
    {"parallel", required_argument, NULL, OPTION_PARALLEL},
    {"groups", required_argument, NULL, OPTION_GROUPS},
    {"nodes", required_argument, NULL, OPTION_NODES},
    {"node", required_argument, NULL, OPTION_NODE},
    {"rendezvous", required_argument, NULL, OPTION_RENDEZVOUS},
    {"baseline", required_argument, NULL, OPTION_BASELINE},
    {"record", required_argument, NULL, OPTION_RECORD},
    {0},
};

/* Takes one option with a number. Returns -1, or an exit status. */
static int take_number(struct options *options, int option, const char *value)
{
    static const struct {
        int option, most;
        const char *what;
    } numbers[] = {
        {OPTION_GPUS, FACTS_GPUS_MAX, "not a number of GPUs"},
        {OPTION_DEADLINE, DEADLINE_MS_MAX, "not a deadline in milliseconds"},
        {OPTION_NODES, GROUPS_RANKS_MAX, "not a number of nodes"},
        {OPTION_NODE, GROUPS_RANKS_MAX - 1, "not the number of a node"},
    };
    size_t i = 0;
    while (numbers[i].option != option)
        i++;
    int number = parse_number(value, numbers[i].most);
    if (number < 0 || (option == OPTION_NODES && !number))
        return complain(numbers[i].what, value);
    switch (option) {
    case OPTION_GPUS:
        options->wish.gpus = (unsigned)number;
        return -1;
    case OPTION_DEADLINE:
        options->deadline_ms = number;
        return -1;
    case OPTION_NODES:
        options->nodes = (unsigned)number;
        return -1;
    default:
        options->node = (unsigned)number;
        return -1;
    }
}

/* Takes one option with a text. Returns whether it is one. */
static bool take_text(struct options *options, int option, const char *value)
{
    const struct {
        int option;
        const char **field;
    } texts[] = {
        {OPTION_DEVICES, &options->wish.devices},  {OPTION_MODEL, &options->wish.model},
        {OPTION_SCRATCH, &options->scratch},       {OPTION_THRESHOLDS, &options->thresholds},
        {OPTION_KERNEL_LOG, &options->kernel_log}, {OPTION_PARALLEL, &options->parallel},
        {OPTION_GROUPS, &options->groups},         {OPTION_RENDEZVOUS, &options->rendezvous},
        {OPTION_BASELINE, &options->baseline},     {OPTION_RECORD, &options->record},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].option == option) {
            *texts[i].field = value;
            return true;
        }
    return false;
}

/* Takes one option. Returns -1, or an exit status. */
static int take_option(struct options *options, int option, const char *value)
{
    if (take_text(options, option, value))
        return -1;
    switch (option) {
    case OPTION_LEVEL:
        options->is_full = text_equal(value, "full");
        return options->is_full || text_equal(value, "quick") ? -1 : complain("not a level", value);
    case OPTION_GPUS:
    case OPTION_DEADLINE:
    case OPTION_NODES:
    case OPTION_NODE:
        return take_number(options, option, value);
    case OPTION_OBSERVE:
        options->is_observed = true;
        return -1;
    case OPTION_JSON:
        options->is_json = true;
        return -1;
    case OPTION_HELP:
        fputs(usage, stdout);
        return 0;
    case OPTION_VERSION:
        printf("phase-preflight %s\n", PACKAGE_VERSION);
        return 0;
    default:
        fputs(usage, stderr);
        return OPTIONS_EXIT_USAGE;
    }
}

/* A file that a variable names, as workflows can: they give no options. NULL where none does. */
static const char *named_file(const char *variable)
{
    const char *path = getenv(variable);
    return path && *path ? path : NULL;
}

static void take_environment(struct options *options)
{
    const char *gpus = getenv("SLURM_GPUS_ON_NODE"), *scratch = getenv("TMPDIR");
    int count = gpus ? parse_number(gpus, FACTS_GPUS_MAX) : 0;
    options->wish.gpus = count > 0 ? (unsigned)count : 0;
    options->wish.devices = getenv("CUDA_VISIBLE_DEVICES");
    options->wish.unconfined = getenv("SLURM_JOB_GPUS");
    options->scratch = scratch && *scratch ? scratch : "/tmp";
    options->thresholds = named_file("PHASED_PREFLIGHT_THRESHOLDS");
}

/* What does not go together. Returns -1, or an exit status. */
static int check_together(const struct options *options)
{
    bool has_full = options->parallel || options->groups || options->rendezvous ||
                    options->baseline || options->record || options->nodes > 1 || options->node;
    if (has_full && !options->is_full)
        return complain("not asked for, and an option of it is given", "--level full");
    if (options->parallel && options->groups)
        return complain("says the same as --groups", "--parallel");
    if (options->node >= options->nodes)
        return complain("not less than --nodes", "--node");
    if (options->nodes > 1 && !options->rendezvous)
        return complain("missing: nodes that measure together need a folder", "--rendezvous");
    return -1;
}

int options_read(struct options *options, int count, char **arguments)
{
    *options = (struct options){.kernel_log = "/dev/kmsg", .deadline_ms = DEADLINE_MS, .nodes = 1};
    take_environment(options);
    for (int option; (option = getopt_long(count, arguments, "", known_options, NULL)) != -1;) {
        int status = take_option(options, option, optarg);
        if (status >= 0)
            return status;
    }
    if (optind < count)
        return complain("not an option", arguments[optind]);
    int status = check_together(options);
    if (status < 0 && options->is_full && !options->baseline)
        options->baseline = named_file("PHASED_PREFLIGHT_BASELINE");
    return status;
}
