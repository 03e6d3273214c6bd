/* Writes the metric families one after another, as the format requires. Each family lists all
 * runs. */
#include "daemon/api/exposition.h"

#include "lib/gpu_columns.h"
#include "lib/json_double.h"
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

static const char *exposition_text(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
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
    exposition_label(text, "UUID", exposition_text(gpu, "uuid"));
    text_add(text, ",");
    exposition_label(text, "modelName", exposition_text(gpu, "model"));
    text_add(text, ",");
    exposition_label(text, "Hostname", exposition_text(gpu, "node"));
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
        exposition_gpu(exposition_text(run, "address"), gpu, family, now_ms, text);
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
            exposition_label(text, "Hostname", exposition_text(pace, "node"));
            text_add(text, ",");
            exposition_label(text, "phased_run", exposition_text(run, "address"));
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
            exposition_label(text, "phased_run", exposition_text(run, "address"));
            double number = NAN;
            (void)json_double_read(value, &number); /* the store has written it */
            exposition_value(text, number);
        }
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
