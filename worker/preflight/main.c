/* phase-preflight: is this node fit for a run? Reads, judges, reports. The exit code is the
 * result. */
#include "lib/clock.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/json.h"
#include "lib/memory.h"
#include "lib/place.h"
#include "lib/spec/problems.h"
#include "lib/text.h"
#include "worker/preflight/baseline.h"
#include "worker/preflight/driver.h"
#include "worker/preflight/facts.h"
#include "worker/preflight/gres.h"
#include "worker/preflight/groups.h"
#include "worker/preflight/host.h"
#include "worker/preflight/measures.h"
#include "worker/preflight/options.h"
#include "worker/preflight/probe.h"
#include "worker/preflight/report.h"
#include "worker/preflight/rows.h"
#include "worker/preflight/speed.h"
#include "worker/preflight/thresholds.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    FULL_MS = 58000, /* for all rows of the full level; each has its own, shorter deadline */
    START_S = 20,    /* the deadline of a start if the thresholds name no other */
};

struct preflight {
    struct options options;
    struct thresholds thresholds, baseline;
    struct facts facts;
    struct groups groups;
    struct measures measures;
    struct row_result results[ROWS_COUNT_MAX];
    size_t count; /* entries of `results` */
};

static int print_error(const struct error *err)
{
    fprintf(stderr, "phase-preflight: %s\n", err->message);
    return OPTIONS_EXIT_USAGE;
}

/* Reads a file of thresholds, and prints its problems. */
static int read_thresholds(const char *path, struct thresholds *thresholds)
{
    struct spec_problems problems = {0};
    int status = thresholds_read(path, thresholds, &problems);
    if (status < 0) {
        struct text text = {0};
        spec_problems_text(&problems, &text);
        fputs(text_string(&text), stderr);
        text_fini(&text);
    }
    spec_problems_fini(&problems);
    return status;
}

/* Names the GPUs by UUID if they have one. If some GPUs are hidden, an index may mean another
 * GPU. */
static void name_devices(const struct fact_gpu *const *gpus, unsigned count, struct text *text)
{
    for (unsigned i = 0; i < count; i++) {
        text_add(text, i ? "," : "");
        if (gpus[i]->uuid[0])
            text_add(text, gpus[i]->uuid);
        else
            text_addf(text, "%u", gpus[i]->index);
    }
}

/* Finds the groups of the allocated GPUs. If there were fewer GPUs, a row has failed already. */
static int find_groups(struct preflight *preflight, unsigned count, struct error *err)
{
    const struct options *options = &preflight->options;
    unsigned gpus = options->wish.gpus ? options->wish.gpus : count;
    if (options->groups)
        return groups_of_text(options->groups, options->nodes, gpus, &preflight->groups, err);
    return groups_of_layout(options->parallel, options->nodes, gpus, &preflight->groups, err);
}

/* Measures nothing, because a row of the quick level has already decided: the GPUs may belong to
 * another job, or be wedged. */
static void leave_out(struct preflight *preflight)
{
    struct error err;
    int status =
        groups_of_layout(NULL, 1, 1, &preflight->groups, &err); /* there must be some groups */
    assert(status == 0);
    for (enum figure_row row = 0; row < FIGURE_ROW_COUNT; row++) {
        preflight->measures.is_taken[row] = preflight->thresholds.rows[row].seconds.is_known;
        if (rows_outcome(preflight->results, preflight->count) == ROW_FAILED)
            measures_add_trouble(&preflight->measures, MEASURE_UNKNOWN, row,
                                 "not measured: another row failed");
    }
}

static void measure(struct preflight *preflight, const struct fact_gpu *const *gpus, unsigned count,
                    int64_t end_ms)
{
    const char *named = getenv("PHASED_PREFLIGHT_GPU");
    char *program = named ? xstrdup(named) : place_program("phase-preflight-gpu");
    struct text visible = {0};
    name_devices(gpus, count, &visible);
    struct probe probe = {.program = program,
                          .visible = text_string(&visible),
                          .groups = &preflight->groups,
                          .node = preflight->options.node,
                          .rendezvous = preflight->options.rendezvous,
                          .start_s = preflight->thresholds.start_seconds.is_known
                                         ? preflight->thresholds.start_seconds.value
                                         : START_S};
    for (enum figure_row row = 0; row < FIGURE_ROW_COUNT; row++) {
        const struct thresholds_row *how = &preflight->thresholds.rows[row];
        bool needs_others = row == FIGURE_ROW_ALLREDUCE || row == FIGURE_ROW_PEERS;
        bool has_others =
            row == FIGURE_ROW_ALLREDUCE ? preflight->groups.round_count > 0 : count > 1;
        if (how->seconds.is_known && (has_others || !needs_others))
            probe_take(&probe, row, how, end_ms, &preflight->measures);
        else
            preflight->measures.is_taken[row] = how->seconds.is_known;
    }
    text_fini(&visible);
    free(program);
}

/* Writes what was measured. If something failed, it writes nothing, because the figures would be a
 * bad measure for other nodes. */
static int record(struct preflight *preflight, const struct speed *speed, const char *node,
                  struct error *err)
{
    struct text text = {0};
    int status;
    if (rows_outcome(preflight->results, preflight->count) == ROW_FAILED)
        status = error_set(err, -ENODATA, "nothing is recorded: a row failed");
    else if (!baseline_text(speed, node, &text))
        status = error_set(err, -ENODATA, "nothing is recorded: nothing was measured");
    else
        status = file_replace(preflight->options.record, text_string(&text), text.size, 0644, err);
    text_fini(&text);
    return status;
}

static int print(struct preflight *preflight, const struct speed *speed, const char *node)
{
    const struct options *options = &preflight->options;
    struct text text = {0};
    if (options->is_json) {
        json_t *report = report_json(node, options->is_observed, preflight->results,
                                     preflight->count, options->is_full ? speed_json(speed) : NULL);
        char *line = json_text(report, JSON_COMPACT | JSON_REAL_PRECISION(6));
        text_addf(&text, "%s\n", line);
        free(line);
        json_decref(report);
    } else {
        report_text(node, preflight->results, preflight->count, &text);
    }
    fputs(text_string(&text), stdout);
    text_fini(&text);
    return fflush(stdout) != 0 ? -EIO : 0;
}

static int print_gres(const struct options *options)
{
    static struct facts facts; /* large, and zeroed */
    const char *dev = getenv("PHASED_DEV");
    struct text text = {0};
    struct error err;
    driver_read(getenv("PHASED_NVML"), (int)options->deadline_ms, &facts);
    int status = gres_text(&facts, dev && *dev ? dev : "/dev", &text, &err);
    if (status == 0 && (fputs(text_string(&text), stdout) < 0 || fflush(stdout) != 0))
        status = error_set(&err, -EIO, "cannot print the GPUs");
    text_fini(&text);
    if (status == 0)
        return ROW_PASSED;
    (void)print_error(&err);
    return status == -ENODEV ? ROW_UNKNOWN : ROW_FAILED;
}

static int run(struct preflight *preflight)
{
    const struct options *options = &preflight->options;
    const struct fact_gpu *gpus[FACTS_GPUS_MAX];
    struct error err;
    char node[256] = "this node";
    (void)gethostname(node, sizeof node - 1); /* otherwise the default stays */
    driver_read(getenv("PHASED_NVML"), (int)options->deadline_ms, &preflight->facts);
    int64_t end_ms = clock_steady_ms() + FULL_MS;
    host_read_kernel_log(options->kernel_log, &preflight->facts);
    host_read_scratch(options->scratch, &preflight->facts);
    host_read_clock(&preflight->facts);
    preflight->count =
        rows_judge(&preflight->facts, &preflight->thresholds, &options->wish, preflight->results);
    unsigned count = rows_allocated(&preflight->facts, &options->wish, gpus);
    /* The groups are of as many GPUs as were asked for, even if more are visible. */
    if (options->wish.gpus && count > options->wish.gpus)
        count = options->wish.gpus;
    struct speed speed = {.measures = &preflight->measures,
                          .thresholds = &preflight->thresholds,
                          .baseline = options->baseline ? &preflight->baseline : NULL,
                          .groups = &preflight->groups,
                          .node = options->node,
                          .gpus = gpus,
                          .gpu_count = count};
    if (options->is_full) {
        bool is_fit = count && rows_outcome(preflight->results, preflight->count) != ROW_FAILED;
        if (is_fit && find_groups(preflight, count, &err) < 0)
            return print_error(&err);
        if (is_fit)
            measure(preflight, gpus, count, end_ms);
        else
            leave_out(preflight);
        preflight->count += speed_judge(&speed, preflight->results + preflight->count);
    }
    enum row_outcome outcome = rows_outcome(preflight->results, preflight->count);
    /* A full disk must not look like a pass, and a missing file must not look like a written
     * one. */
    if (print(preflight, &speed, node) < 0 && outcome == ROW_PASSED)
        outcome = ROW_UNKNOWN;
    if (options->record && record(preflight, &speed, node, &err) < 0) {
        (void)print_error(&err);
        outcome = outcome == ROW_PASSED ? ROW_UNKNOWN : outcome;
    }
    return options->is_observed ? 0 : (int)outcome;
}

int main(int count, char **arguments)
{
    (void)count;
    static struct preflight preflight; /* large, and zeroed */
    int exit_code = options_read(&preflight.options, arguments + 1);
    if (exit_code >= 0)
        return exit_code;
    if (preflight.options.is_gres)
        return print_gres(&preflight.options);
    const char *thresholds = preflight.options.thresholds, *baseline = preflight.options.baseline;
    char *installed = place_data("preflight.yaml");
    bool is_read =
        read_thresholds(thresholds ? thresholds : installed, &preflight.thresholds) == 0 &&
        (!baseline || read_thresholds(baseline, &preflight.baseline) == 0);
    free(installed);
    return is_read ? run(&preflight) : OPTIONS_EXIT_USAGE;
}
