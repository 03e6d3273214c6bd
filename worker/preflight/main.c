/* phase-preflight: is this node fit for a run? Reads, judges, reports; the exit status tells. */
#include "config.h"
#include "lib/place.h"
#include "lib/spec/problems.h"
#include "lib/text.h"
#include "worker/preflight/driver.h"
#include "worker/preflight/facts.h"
#include "worker/preflight/host.h"
#include "worker/preflight/report.h"
#include "worker/preflight/rows.h"
#include "worker/preflight/thresholds.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_USAGE = 2, DEADLINE_MS = 4000, DEADLINE_MS_MAX = 60000 };

static const char usage[] =
    "Usage: phase-preflight [OPTION]...\n"
    "Says whether this node is fit for a run: 0 passed, 1 failed, 3 could not tell.\n\n"
    "  --level LEVEL      quick (the default)\n"
    "  --gpus N           GPUs that are allocated here; default SLURM_GPUS_ON_NODE\n"
    "  --devices LIST     which: indices or UUIDs; default CUDA_VISIBLE_DEVICES, else all\n"
    "  --model TEXT       part of the GPUs' name\n"
    "  --scratch FOLDER   default TMPDIR, else /tmp\n"
    "  --thresholds FILE  default the installed preflight.yaml\n"
    "  --kernel-log FILE  default /dev/kmsg\n"
    "  --deadline-ms N    for the driver to answer; default 4000\n"
    "  --observe          only report: exit with 0 whatever was found\n"
    "  --json             for programs\n"
    "  --help, --version\n";

struct preflight {
    struct row_wish wish;
    const char *scratch, *thresholds, *kernel_log;
    int deadline_ms;
    bool is_json, is_observed;
};

/* Returns -1 for what is no whole number from 0 to `most`. */
static int parse_number(const char *text, long most)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    return errno || end == text || *end || value < 0 || value > most ? -1 : (int)value;
}

static int complain(const char *what, const char *value)
{
    fprintf(stderr, "phase-preflight: %s: %s\n", value, what);
    return EXIT_USAGE;
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
};

static const struct option options[] = {
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
    {0},
};

/* Takes one option. Returns 0, or an exit status + 1 when the program is to end. */
static int take_option(struct preflight *preflight, int option, const char *value)
{
    int number = 0;
    switch (option) {
    case OPTION_LEVEL:
        if (text_equal(value, "full"))
            return 1 + complain("not supported yet", "--level full");
        return text_equal(value, "quick") ? 0 : 1 + complain("not a level", value);
    case OPTION_GPUS:
        number = parse_number(value, FACTS_GPUS_MAX);
        preflight->wish.gpus = number < 0 ? 0 : (unsigned)number;
        return number < 0 ? 1 + complain("not a number of GPUs", value) : 0;
    case OPTION_DEADLINE:
        preflight->deadline_ms = number = parse_number(value, DEADLINE_MS_MAX);
        return number < 0 ? 1 + complain("not a deadline in milliseconds", value) : 0;
    case OPTION_DEVICES:
        preflight->wish.devices = value;
        return 0;
    case OPTION_MODEL:
        preflight->wish.model = value;
        return 0;
    case OPTION_SCRATCH:
        preflight->scratch = value;
        return 0;
    case OPTION_THRESHOLDS:
        preflight->thresholds = value;
        return 0;
    case OPTION_KERNEL_LOG:
        preflight->kernel_log = value;
        return 0;
    case OPTION_OBSERVE:
        preflight->is_observed = true;
        return 0;
    case OPTION_JSON:
        preflight->is_json = true;
        return 0;
    case OPTION_HELP:
        fputs(usage, stdout);
        return 1;
    case OPTION_VERSION:
        printf("phase-preflight %s\n", PACKAGE_VERSION);
        return 1;
    default:
        fputs(usage, stderr);
        return 1 + EXIT_USAGE;
    }
}

static void take_environment(struct preflight *preflight)
{
    const char *gpus = getenv("SLURM_GPUS_ON_NODE"), *scratch = getenv("TMPDIR");
    int count = gpus ? parse_number(gpus, FACTS_GPUS_MAX) : 0;
    preflight->wish.gpus = count > 0 ? (unsigned)count : 0;
    preflight->wish.devices = getenv("CUDA_VISIBLE_DEVICES");
    preflight->wish.unconfined = getenv("SLURM_JOB_GPUS");
    preflight->scratch = scratch && *scratch ? scratch : "/tmp";
}

static int run(const struct preflight *preflight, const struct thresholds *thresholds)
{
    static struct facts facts; /* large, and zeroed */
    struct row_result results[ROWS_COUNT_MAX];
    struct text text = {0};
    char node[256] = "this node";
    (void)gethostname(node, sizeof node - 1); /* the default stays */
    driver_read(getenv("PHASED_NVML"), preflight->deadline_ms, &facts);
    host_read_kernel_log(preflight->kernel_log, &facts);
    host_read_scratch(preflight->scratch, &facts);
    host_read_clock(&facts);
    size_t count = rows_judge(&facts, thresholds, &preflight->wish, results);
    if (preflight->is_json) {
        json_t *report = report_json(node, preflight->is_observed, results, count);
        char *line = json_dumps(report, JSON_COMPACT);
        text_addf(&text, "%s\n", line ? line : "{}");
        free(line);
        json_decref(report);
    } else {
        report_text(node, results, count, &text);
    }
    fputs(text_string(&text), stdout);
    text_fini(&text);
    /* A full disk must not look like a pass. */
    if (fflush(stdout) != 0)
        return ROW_UNKNOWN;
    return preflight->is_observed ? 0 : (int)rows_outcome(results, count);
}

int main(int count, char **arguments)
{
    struct preflight preflight = {.kernel_log = "/dev/kmsg", .deadline_ms = DEADLINE_MS};
    take_environment(&preflight);
    for (int option; (option = getopt_long(count, arguments, "", options, NULL)) != -1;) {
        int end = take_option(&preflight, option, optarg);
        if (end)
            return end - 1;
    }
    if (optind < count)
        return complain("not an option", arguments[optind]);
    static struct thresholds thresholds; /* large */
    struct spec_problems problems = {0};
    int status = EXIT_USAGE;
    char *installed = place_data("preflight.yaml");
    if (thresholds_read(preflight.thresholds ? preflight.thresholds : installed, &thresholds,
                        &problems) < 0) {
        struct text text = {0};
        spec_problems_text(&problems, &text);
        fputs(text_string(&text), stderr);
        text_fini(&text);
    } else {
        status = run(&preflight, &thresholds);
    }
    spec_problems_fini(&problems);
    free(installed);
    return status;
}
