/* Writes the metric families one after another, as the format requires. Each family lists all
 * runs. */
#include "daemon/api/exposition.h"

#include "lib/gpu_columns.h"
#include "lib/json.h"
#include "lib/protocol/words.h"
#include "lib/text.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

enum { EXPOSITION_FRESH_S = 180 };

/* --- The format ------------------------------------------------------------------------------- */

static void exposition_begin(struct text *text, const char *name, const char *type,
                             const char *help)
{
    text_addf(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void exposition_label(struct text *text, const char *name, const char *value)
{
    text_addf(text, "%s=\"", name);
    for (const char *c = value ? value : ""; *c; c++) {
        if (*c == '\n')
            text_add(text, "\\n");
        else if (*c == '"' || *c == '\\')
            text_addf(text, "\\%c", *c);
        else
            text_add_bytes(text, c, 1);
    }
    text_add(text, "\"");
}

static void exposition_value(struct text *text, double value)
{
    if (isnan(value))
        text_add(text, "} NaN\n");
    else if (isinf(value))
        text_add(text, value > 0 ? "} +Inf\n" : "} -Inf\n");
    else
        text_addf(text, "} %.10g\n", value);
}

/* --- GPUs ------------------------------------------------------------------------------------- */

static const struct exposition_family {
    const char *name;   /* of the metric */
    const char *member; /* of a GPU in the answer */
    const char *help;
} exposition_families[] = {
#define X(symbol, name, kind, dcgm, what) {dcgm, #name, what},
    GPU_COLUMNS(X)
#undef X
        {"phased_gpu_sampled_seconds_total", "sampled",
         "seconds for which the use of the GPU is known"},
    {"phased_gpu_idle_seconds_total", "idle",
     "seconds in which the GPU was idle: below 5 percent on average"},
};

static bool exposition_is_counter(const char *name)
{
    size_t size = strlen(name), suffix = strlen("_TOTAL");
    return size > suffix && strcasecmp(name + size - suffix, "_TOTAL") == 0;
}

/* dcgm-exporter gives its profiling values as a share of 1, and all other values as NVML does. */
static double exposition_factor(const char *name)
{
    return text_starts(name, "DCGM_FI_PROF_") ? 0.01 : 1;
}

static void exposition_gpu(const char *address, const json_t *gpu,
                           const struct exposition_family *family, int64_t now_ms,
                           struct text *text)
{
    const json_t *value = json_object_get(gpu, family->member);
    double told_s = json_number_value(json_object_get(gpu, "time")) +
                    json_number_value(json_object_get(gpu, "seconds"));
    if (!json_is_number(value) || told_s < (double)now_ms / 1000 - EXPOSITION_FRESH_S)
        return;
    text_addf(text, "%s{gpu=\"%d\",", family->name,
              (int)json_integer_value(json_object_get(gpu, "gpu")));
    exposition_label(text, "UUID", json_member_string(gpu, "uuid"));
    text_add(text, ",");
    exposition_label(text, "modelName", json_member_string(gpu, "model"));
    text_add(text, ",");
    exposition_label(text, "Hostname", json_member_string(gpu, "node"));
    text_add(text, ",");
    exposition_label(text, "phased_run", address);
    exposition_value(text, exposition_factor(family->name) * json_number_value(value));
}

static void exposition_gpus(const json_t *runs, const struct exposition_family *family,
                            int64_t now_ms, struct text *text)
{
    const json_t *run, *gpu;
    size_t i, j;
    exposition_begin(text, family->name, exposition_is_counter(family->name) ? "counter" : "gauge",
                     family->help);
    json_array_foreach(runs, i, run) json_array_foreach(json_object_get(run, "gpus"), j, gpu)
        exposition_gpu(json_member_string(run, "address"), gpu, family, now_ms, text);
}

/* --- Runs ------------------------------------------------------------------------------------- */

static void exposition_paces(const json_t *runs, struct text *text)
{
    const json_t *run, *pace;
    size_t i, j;
    exposition_begin(text, "phased_step_seconds", "gauge", "duration of a training step on a node");
    json_array_foreach(runs, i, run)
    {
        json_array_foreach(json_object_get(run, "paces"), j, pace)
        {
            text_add(text, "phased_step_seconds{");
            exposition_label(text, "Hostname", json_member_string(pace, "node"));
            text_add(text, ",");
            exposition_label(text, "phased_run", json_member_string(run, "address"));
            exposition_value(text, json_number_value(json_object_get(pace, "step_seconds")));
        }
    }
}

static void exposition_metrics(const json_t *runs, struct text *text)
{
    const json_t *run;
    size_t i;
    exposition_begin(text, "phased_metric", "gauge", "newest value of a metric of a run");
    json_array_foreach(runs, i, run)
    {
        const char *name;
        json_t *value;
        json_object_foreach(json_object_get(run, "metrics"), name, value)
        {
            text_add(text, "phased_metric{");
            exposition_label(text, "name", name);
            text_add(text, ",");
            exposition_label(text, "phased_run", json_member_string(run, "address"));
            double number = NAN;
            (void)json_double_read(value, &number); /* the store has written it */
            exposition_value(text, number);
        }
    }
}

/* --- Workflows -------------------------------------------------------------------------------- */

enum exposition_of_workflow { OF_STATE, OF_PHASES, OF_COST, OF_GPU_SECONDS, OF_BUDGET };

static const struct exposition_workflow_family {
    const char *name, *type, *help;
} exposition_workflow_families[EXPOSITION_WORKFLOW_FAMILIES] = {
    [OF_STATE] = {"phased_workflow_state", "gauge", "1: the workflow is in this state"},
    [OF_PHASES] = {"phased_phases", "gauge", "phases of the workflow in this state"},
    [OF_COST] = {"phased_workflow_cost_usd", "gauge", "what the workflow has cost, dollars"},
    [OF_GPU_SECONDS] = {"phased_workflow_gpu_seconds_total", "counter",
                        "GPU seconds of the workflow"},
    [OF_BUDGET] = {"phased_workflow_budget", "gauge", "what the workflow may cost, in the unit"},
};

/* Adds a line of one family. `label` is a label in addition to those of the workflow; it may be
 * NULL. */
static void exposition_workflow_line(struct exposition_workflows *workflows,
                                     enum exposition_of_workflow of, const json_t *workflow,
                                     const char *label, const char *label_value, double value)
{
    struct text *text = &workflows->families[of];
    text_addf(text, "%s{workflow=\"%lld\",", exposition_workflow_families[of].name,
              (long long)json_integer_value(json_object_get(workflow, "workflow")));
    exposition_label(text, "name", json_member_string(workflow, "name"));
    if (label) {
        text_add(text, ",");
        exposition_label(text, label, label_value);
    }
    exposition_value(text, value);
}

/* The members of a matrix count, and the matrix itself does not. */
static void exposition_phases(struct exposition_workflows *workflows, const json_t *workflow)
{
    size_t counts[PHASE_STATE_COUNT] = {0}, i;
    const json_t *phase;
    json_array_foreach(json_object_get(workflow, "phases"), i, phase)
    {
        const char *state = json_member_string(phase, "state");
        for (int j = 0;
             j < PHASE_STATE_COUNT && !json_is_integer(json_object_get(phase, "members")); j++)
            counts[j] += text_equal(phase_state_name((enum phase_state)j), state ? state : "");
    }
    for (int j = 0; j < PHASE_STATE_COUNT; j++)
        if (counts[j])
            exposition_workflow_line(workflows, OF_PHASES, workflow, "state",
                                     phase_state_name((enum phase_state)j), (double)counts[j]);
}

void exposition_add_workflow(struct exposition_workflows *workflows, const json_t *workflow)
{
    const json_t *cost_usd = json_object_get(workflow, "cost_usd");
    const char *unit;
    json_t *limit;
    exposition_workflow_line(workflows, OF_STATE, workflow, "state",
                             json_member_string(workflow, "state"), 1);
    exposition_phases(workflows, workflow);
    if (json_is_number(cost_usd))
        exposition_workflow_line(workflows, OF_COST, workflow, NULL, NULL,
                                 json_number_value(cost_usd));
    exposition_workflow_line(workflows, OF_GPU_SECONDS, workflow, NULL, NULL,
                             json_number_value(json_object_get(workflow, "gpu_seconds")));
    json_object_foreach(json_object_get(workflow, "budget"), unit, limit) exposition_workflow_line(
        workflows, OF_BUDGET, workflow, "unit", unit, json_number_value(limit));
}

void exposition_write_workflows(struct exposition_workflows *workflows, struct text *text)
{
    for (size_t i = 0; i < EXPOSITION_WORKFLOW_FAMILIES; i++) {
        const struct exposition_workflow_family *family = &exposition_workflow_families[i];
        exposition_begin(text, family->name, family->type, family->help);
        text_add(text, text_string(&workflows->families[i]));
        text_fini(&workflows->families[i]);
    }
}

void exposition_write(const json_t *at_work, int64_t now_ms, struct text *text)
{
    const json_t *runs = json_object_get(at_work, "runs");
    for (size_t i = 0; i < sizeof exposition_families / sizeof *exposition_families; i++)
        exposition_gpus(runs, &exposition_families[i], now_ms, text);
    exposition_paces(runs, text);
    exposition_metrics(runs, text);
}
