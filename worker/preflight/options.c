/* The options of phase-preflight. */
#include "worker/preflight/options.h"

#include "config.h"
#include "lib/error.h"
#include "lib/option.h"
#include "lib/text.h"
#include "worker/preflight/facts.h"
#include "worker/preflight/groups.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEADLINE_MS = 4000, DEADLINE_MS_MAX = 60000 };

static const char usage[] =
    "usage: phase-preflight [OPTION]...\n"
    "\n"
    "Says whether this node is fit for a run: 0 passed, 1 failed, 3 could not tell.\n"
    "The options from --parallel on belong to --level full.\n";

/* Reads the words. Returns -1 to go on, or an exit code. */
static int read_words(struct options *options, char **words)
{
    const char *level = NULL;
    bool is_version = false;
    struct error err;
    const struct option_rule rules[] = {
        {"level", 0, "LEVEL", "quick (the default), or full: measures for up to a minute",
         .text = &level},
        {"gpus", 0, "N", "how many GPUs are allocated (default: $SLURM_GPUS_ON_NODE)",
         .number = &options->wish.gpus, .most = FACTS_GPUS_MAX},
        {"devices", 0, "LIST", "their indices or UUIDs (default: $CUDA_VISIBLE_DEVICES)",
         .text = &options->wish.devices},
        {"model", 0, "TEXT", "part of the name of the GPUs", .text = &options->wish.model},
        {"scratch", 0, "FOLDER", "scratch space (default: $TMPDIR, or /tmp)",
         .text = &options->scratch},
        {"thresholds", 0, "FILE", "default: $PHASED_PREFLIGHT_THRESHOLDS, or as installed",
         .text = &options->thresholds},
        {"kernel-log", 0, "FILE", "the log of the kernel (default: /dev/kmsg)",
         .text = &options->kernel_log},
        {"deadline-ms", 0, "N", "how long the driver may take to answer (default: 4000)",
         .number = &options->deadline_ms, .most = DEADLINE_MS_MAX},
        {"observe", 0, NULL, "only report: exit with 0 whatever was found",
         .flag = &options->is_observed},
        {"json", 0, NULL, "print JSON, for programs", .flag = &options->is_json},
        {"gres", 0, NULL, "only print the GPUs as lines of Slurm's gres.conf",
         .flag = &options->is_gres},
        {"version", 0, NULL, "print the version", .flag = &is_version},
        {"parallel", 0, "SIZES", "which GPUs reduce together, as tensor=4,data=2",
         .text = &options->parallel},
        {"groups", 0, "LIST", "the same as ranks, as 0-3/4-7 (default: all GPUs)",
         .text = &options->groups},
        {"nodes", 0, "N", "how many nodes measure together", .number = &options->nodes, .least = 1,
         .most = GROUPS_RANKS_MAX},
        {"node", 0, "K", "which of these nodes this is, from 0", .number = &options->node,
         .most = GROUPS_RANKS_MAX - 1},
        {"rendezvous", 0, "FOLDER", "a new folder where these nodes meet",
         .text = &options->rendezvous},
        {"baseline", 0, "FILE", "figures of a good node ($PHASED_PREFLIGHT_BASELINE)",
         .text = &options->baseline},
        {"record", 0, "FILE", "write such figures, unless something failed",
         .text = &options->record},
        {0},
    };
    int exit_code = option_main("phase-preflight", usage, words, rules, NULL);
    if (exit_code >= 0)
        return exit_code;
    options->is_full = level && text_equal(level, "full");
    if (level && !options->is_full && !text_equal(level, "quick")) {
        error_set(&err, -EINVAL, "--level %s: use quick or full", level);
        return option_refuse("phase-preflight", &err);
    }
    if (is_version)
        printf("phase-preflight %s\n", PACKAGE_VERSION);
    return is_version ? 0 : -1;
}

/* Returns the file that a variable names, or NULL. Workflows can set variables, but no options. */
static const char *named_file(const char *variable)
{
    const char *path = getenv(variable);
    return path && *path ? path : NULL;
}

static void take_environment(struct options *options)
{
    const char *gpus = getenv("SLURM_GPUS_ON_NODE"), *scratch = getenv("TMPDIR");
    char *end = "";
    unsigned long count = gpus ? strtoul(gpus, &end, 10) : 0;
    options->wish.gpus = !*end && count <= FACTS_GPUS_MAX ? (unsigned)count : 0;
    options->wish.devices = getenv("CUDA_VISIBLE_DEVICES");
    options->wish.unconfined = getenv("SLURM_JOB_GPUS");
    options->scratch = scratch && *scratch ? scratch : "/tmp";
    options->thresholds = named_file("PHASED_PREFLIGHT_THRESHOLDS");
}

/* Returns an option that only the full level has, or NULL. */
static const char *find_full_option(const struct options *options)
{
    const struct {
        const char *name;
        bool is_given;
    } rows[] = {
        {"--parallel", options->parallel},     {"--groups", options->groups},
        {"--rendezvous", options->rendezvous}, {"--baseline", options->baseline},
        {"--record", options->record},         {"--nodes", options->nodes > 1},
        {"--node", options->node > 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].is_given)
            return rows[i].name;
    return NULL;
}

/* Refuses options that contradict each other. Returns -1, or an exit code. */
static int check_together(const struct options *options)
{
    struct error err;
    const char *full = find_full_option(options);
    if (full && !options->is_full)
        error_set(&err, -EINVAL, "%s needs --level full", full);
    else if (options->parallel && options->groups)
        error_set(&err, -EINVAL, "--parallel cannot be used with --groups");
    else if (options->node >= options->nodes)
        error_set(&err, -EINVAL, "--node must be less than --nodes");
    else if (options->nodes > 1 && !options->rendezvous)
        error_set(&err, -EINVAL, "--nodes needs --rendezvous, a folder in which the nodes meet");
    else
        return -1;
    return option_refuse("phase-preflight", &err);
}

int options_read(struct options *options, char **words)
{
    *options = (struct options){.kernel_log = "/dev/kmsg", .deadline_ms = DEADLINE_MS, .nodes = 1};
    take_environment(options);
    int exit_code = read_words(options, words);
    if (exit_code < 0)
        exit_code = check_together(options);
    if (exit_code < 0 && options->is_full && !options->baseline)
        options->baseline = named_file("PHASED_PREFLIGHT_BASELINE");
    return exit_code;
}
